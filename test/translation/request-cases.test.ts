import { expect, test } from 'bun:test'
import { type Case, casesOf } from './cases.ts'
import { testClaims } from './claims.ts'
import { foundAt, mismatches } from './match.ts'
import { type Played, sceneOf, useCases } from './play.ts'
import { REQUEST_CLAIMS } from './request-claims.ts'

const stage = useCases()

for (const each of casesOf('request')) {
  test(`${each.id}: ${each.title}`, async () => {
    const played = await stage.play(sceneOf(each))
    const { status = 200 } = each.expected
    expect({ status: played.status, text: played.text }).toEqual({ status, text: expect.any(String) })
    if (status === 200) expectSent(each, played)
    else expect(mismatches(each.expected.error, played.body.error)).toEqual([])
  })

  testClaims(each, REQUEST_CLAIMS, claim => claim(sceneOf(each), stage))
}

function expectSent({ expected, raw_body_contains: raw = '' }: Case, { asked, sent }: Played): void {
  const { upstream_request, upstream_body_contains = '', absent = [] } = expected
  expect(asked).toContain(raw)
  expect(sent.text).toContain(upstream_body_contains)
  if (upstream_request) expect(mismatches(upstream_request, sent.body)).toEqual([])
  for (const path of absent) expect({ path, found: foundAt(path, sent.body) }).toEqual({ path, found: [] })
}
