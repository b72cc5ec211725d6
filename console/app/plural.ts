/** `plural('en', 2, { one: 'key', other: 'keys' })`. Languages without a plural give `other` only. */
export function plural(
  locale: string,
  count: number,
  forms: Readonly<Partial<Record<Intl.LDMLPluralRule, string>> & { other: string }>,
): string {
  return forms[new Intl.PluralRules(locale).select(count)] ?? forms.other
}
