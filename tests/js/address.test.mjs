import assert from "node:assert/strict"
import { test } from "node:test"
import { addressDuty, merged } from "../../assets/js/address.mjs"

const NAMES = ["prompt", "layer", "step"]

test("our names are replaced and everybody else's kept", () => {
  assert.equal(merged("?embed=true&layer=1&step=4", { layer: "2" }, NAMES), "?embed=true&layer=2")
  assert.equal(merged("?layer=1", {}, NAMES), "")
  assert.equal(merged("", { prompt: "a&b=c #d +e" }, NAMES), "?prompt=a%26b%3Dc+%23d+%2Be")
})

test("a new document follows, a lost one gives its address back once", () => {
  assert.equal(addressDuty(undefined, { session: "a", restored: false }), "follow")
  assert.equal(addressDuty("a", { session: "a", restored: false }), "follow")
  assert.equal(addressDuty("a", { session: "b", restored: false }), "restore")
  assert.equal(addressDuty("asked b", { session: "b", restored: false }), "wait")
  assert.equal(addressDuty("asked b", { session: "b", restored: true }), "follow")
})
