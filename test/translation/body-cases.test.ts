import { expect, test } from 'bun:test'
import { BODY_CLAIMS } from './body-claims.ts'
import { casesOf } from './cases.ts'
import { testClaims } from './claims.ts'
import { foundAt, mismatches } from './match.ts'
import { official, rejection, sceneOf, useCases } from './play.ts'

const stage = useCases()

for (const each of casesOf('body')) {
  test(`${each.id}: ${each.title}`, async () => {
    const scene = sceneOf(each)
    const { status, body } = await stage.play(scene)
    const { status_not, response, absent = [] } = each.expected
    if (status_not !== undefined) {
      expect(status).not.toBe(status_not)
      expect((await rejection(stage, scene)).status).toBe(status)
      return
    }
    expect(status).toBe(200)
    for (const path of absent) expect(foundAt(path, body)).toEqual([])
    if (scene.pair.client === 'messages') expect(body.id).toMatch(/^[0-9a-f]+$/)
    const read = await official(stage, scene)
    if (response) expect([...mismatches(response, body), ...mismatches(response, read)]).toEqual([])
  })

  testClaims(each, BODY_CLAIMS, claim => claim(sceneOf(each), stage))
}
