import type { z } from 'zod'

/** A fault with its path, as it stands in the file. */
export function describe(issue: z.core.$ZodIssue, within = ''): string[] {
  const path = issue.path.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : text ? `${text}.${String(step)}` : String(step)),
    within,
  )
  if (issue.code !== 'unrecognized_keys') return [`${path || 'file'}: ${issue.message}`]
  return issue.keys.map(key => `${path ? `${path}.` : ''}${key}: unknown key`)
}
