// @ts-check
import assert from "node:assert/strict"
import { test } from "node:test"
import { keepStages } from "../../assets/js/mount.mjs"

/** A component entry whose stages write down what happens to them. */
function watched() {
  /** @type {string[]} */
  const log = []
  let made = 0
  const mount = keepStages(() => {
    const name = `stage ${++made}`
    return {
      update: ({ data }) => log.push(`${name} gets ${data}`),
      dispose: () => log.push(`${name} goes`),
    }
  })
  return { log, mount }
}

test("one element keeps one stage through every call", () => {
  const { log, mount } = watched()
  const parentElement = {}
  mount({ parentElement, data: "a" })
  mount({ parentElement, data: "b" })
  mount({ parentElement: {}, data: "c" })
  assert.deepEqual(log, ["stage 1 gets a", "stage 1 gets b", "stage 2 gets c"])
})

test("only the last call's clean-up disposes, and what comes after starts anew", () => {
  const { log, mount } = watched()
  const parentElement = {}
  const overtaken = mount({ parentElement, data: "a" })
  const last = mount({ parentElement, data: "b" })
  overtaken()
  assert.deepEqual(log, ["stage 1 gets a", "stage 1 gets b"])
  last()
  mount({ parentElement, data: "c" })
  assert.deepEqual(log.slice(2), ["stage 1 goes", "stage 2 gets c"])
})
