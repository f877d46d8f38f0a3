import assert from "node:assert/strict"
import test from "node:test"
import { mountCarrier, storeGet, storeMap, storeSubscribe } from "../../assets/js/store.mjs"
import { Synced } from "../../assets/js/sync.mjs"

test("a payload lives as long as its carrier, and a carrier holds one run at a time", () => {
  const [parentElement, payload] = [{}, { id: 1 }]
  mountCarrier({ parentElement, data: { key: "a", payload } })
  assert.equal(storeGet("a"), payload)
  const unmount = mountCarrier({ parentElement, data: { key: "b", payload } })
  assert.equal(storeGet("a"), null)
  assert.equal(storeGet("b"), payload)
  unmount()
  assert.equal(storeMap().size, 0)
})

test("only the latest call's cleanup lets go", () => {
  const [parentElement, payload] = [{}, {}]
  const first = mountCarrier({ parentElement, data: { key: "a", payload } })
  const second = mountCarrier({ parentElement, data: { key: "a", payload } })
  first()
  assert.equal(storeGet("a"), payload)
  second()
  assert.equal(storeGet("a"), null)
})

test("two carriers share a key, the last one out drops it", () => {
  const payload = {}
  const one = mountCarrier({ parentElement: {}, data: { key: "a", payload } })
  const two = mountCarrier({ parentElement: {}, data: { key: "a", payload } })
  one()
  assert.equal(storeGet("a"), payload)
  two()
  assert.equal(storeGet("a"), null)
})

test("a stage hears of new payloads until it is gone, and not of the same one again", () => {
  const [heard, control] = [[], new AbortController()]
  const [parentElement, payload] = [{}, {}]
  storeSubscribe((key) => heard.push(key), control.signal)
  mountCarrier({ parentElement, data: { key: "a", payload } })
  mountCarrier({ parentElement, data: { key: "a", payload } })
  mountCarrier({ parentElement, data: { key: "a", payload: {} } })
  control.abort()
  mountCarrier({ parentElement, data: { key: "b", payload } })()
  assert.deepEqual(heard, ["a", "a"])
})

test("the viewer's choice shows at once and its echo changes nothing", () => {
  const head = new Synced(0)
  head.receive(0)
  assert.ok(head.choose(1))
  assert.ok(head.choose(2))
  assert.ok(!head.choose(2))
  assert.ok(!head.receive(1), "a late echo of the first choice")
  assert.equal(head.value, 2)
  assert.ok(!head.receive(2))
  assert.equal(head.value, 2)
})

test("a change that the server makes itself wins, the same word again does not", () => {
  const head = new Synced(0)
  head.receive(0)
  head.choose(1)
  assert.ok(!head.receive(0), "a rerun that has not heard of the choice yet")
  assert.equal(head.value, 1)
  assert.ok(head.receive(3))
  assert.equal(head.value, 3)
  assert.ok(!head.receive(undefined))
})
