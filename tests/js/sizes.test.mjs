import assert from "node:assert/strict"
import test from "node:test"
import { nextWish, sameSizes } from "../../assets/js/sizes.mjs"

test("one plan is asked for at a time, and the newest wish is the next", () => {
  const wanted = { context: 16, batch: 2 }
  assert.equal(nextWish({ wanted: null, asked: null, askedAt: 0 }, 10), null)
  assert.equal(nextWish({ wanted, asked: null, askedAt: 0 }, 10), wanted)
  assert.equal(nextWish({ wanted, asked: { context: 8, batch: 2 }, askedAt: 0 }, 10), null)
})

test("an answer that never comes is not waited for", () => {
  const wanted = { context: 16 }
  assert.equal(nextWish({ wanted, asked: { context: 8 }, askedAt: 0 }, 3001), wanted)
})

test("sizes are the same when every one of them is", () => {
  assert.ok(sameSizes({ a: 1, b: 2 }, { a: 1, b: 2 }))
  assert.ok(!sameSizes({ a: 1, b: 2 }, { a: 1, b: 3 }))
  assert.ok(!sameSizes(null, { a: 1 }))
})
