import assert from "node:assert/strict"
import test from "node:test"
import { advanced, clampStep, paintedMs } from "../../assets/js/clock.mjs"
import { PHASE_ENDS, STEP_MS, phaseNumber, phasesAt } from "../../assets/js/run.mjs"

const pace = { elapsed: 16, speed: 1, playing: true, lastStep: 5, stepMs: STEP_MS }

test("one step at speed 1 takes at most 1.2 s, and its phases follow each other", () => {
  assert.ok(STEP_MS <= 1200)
  assert.deepEqual(phasesAt(0), { land: 0, draw: 0, settle: 0 })
  assert.deepEqual(phasesAt(PHASE_ENDS.land), { land: 1, draw: 0, settle: 0 })
  assert.deepEqual(phasesAt(PHASE_ENDS.draw), { land: 1, draw: 1, settle: 0 })
  assert.deepEqual(phasesAt(STEP_MS), { land: 1, draw: 1, settle: 1 })
  assert.deepEqual([0, 300, 800, 1100].map(phaseNumber), [0, 1, 2, 3])
})

test("playing at speed s shows s steps in 1.2 s, to the frame", () => {
  for (const speed of [0.25, 0.5, 1, 2, 4]) {
    let moment = { step: 0, ms: STEP_MS }
    let frames = 0
    while (!(moment.step === 5 && moment.ms === STEP_MS)) {
      moment = advanced(moment, { ...pace, speed })
      frames += 1
    }
    assert.ok(Math.abs(frames * 16 - (5 * STEP_MS) / speed) <= 32)
  }
})

test("a manual step runs out its own motion and stays", () => {
  let moment = { step: 2, ms: 0, moving: true }
  for (let i = 0; i < 200; i++) moment = advanced(moment, { ...pace, playing: false })
  assert.deepEqual([moment.step, moment.ms, moment.moving], [2, STEP_MS, false])
})

test("a tab that slept does not skip steps", () => {
  const { step, ms } = advanced({ step: 0, ms: 0 }, { ...pace, elapsed: 3_600_000 })
  assert.equal(step, 0)
  assert.ok(ms <= 100)
})

test("the last step ends the play, and more steps let it go on", () => {
  const end = advanced({ step: 5, ms: STEP_MS }, pace)
  assert.ok(end.ended)
  const more = advanced(end, { ...pace, lastStep: 9 })
  assert.equal(more.step, 6)
  assert.ok(!more.ended)
})

test("reduced motion paints whole steps only", () => {
  assert.equal(paintedMs({ step: 1, ms: 10 }, true, STEP_MS), STEP_MS)
  assert.equal(paintedMs({ step: 1, ms: 10 }, false, STEP_MS), 10)
})

test("a step from outside is pulled into the run", () => {
  assert.deepEqual([-3, 2.4, 99, NaN].map((step) => clampStep(step, 5)), [0, 2, 5, 0])
})
