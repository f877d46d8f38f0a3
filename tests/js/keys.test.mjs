import assert from "node:assert/strict"
import test from "node:test"
import { keyAction, overlayOpen, ownsKey, pageAction } from "../../assets/js/keys.mjs"

const node = (tagName, { role = "", dataset = {}, editable = false } = {}) =>
  ({ tagName, dataset, isContentEditable: editable, getAttribute: (name) => (name === "role" ? role : null) })
const page = (open = false) => ({ querySelector: () => (open ? {} : null) })
const press = (key, target = node("BODY"), more = {}) => ({ key, composedPath: () => [target], ...more })

test("arrows, presenter remotes, space, home and end", () => {
  assert.deepEqual(["ArrowRight", "PageDown", "ArrowLeft", "PageUp", " ", "Home", "End"].map(keyAction),
    ["next", "next", "back", "back", "play", "first", "last"])
  for (const key of ["c", "C", "r", "R", "Enter", "Tab"]) assert.equal(keyAction(key), null)
})

test("keys belong to whoever edits, chooses or moves with them", () => {
  for (const tag of ["INPUT", "TEXTAREA", "SELECT"]) assert.ok(ownsKey(node(tag), "ArrowRight"))
  for (const role of ["slider", "combobox", "tab", "radio", "option", "gridcell"]) {
    assert.ok(ownsKey(node("DIV", { role }), "PageDown"))
  }
  assert.ok(ownsKey(node("DIV", { editable: true }), " "))
  assert.ok(!ownsKey(node("BODY"), "ArrowRight"))
  assert.ok(!ownsKey(null, "ArrowRight"))
})

test("space presses a focused button; arrows still step", () => {
  assert.ok(ownsKey(node("BUTTON"), " ") && ownsKey(node("A"), " ") && ownsKey(node("SUMMARY"), " "))
  assert.ok(!ownsKey(node("BUTTON"), "ArrowRight"))
})

test("the cells take arrows, a presenter's remote turns the page all the same", () => {
  const cells = node("DIV", { dataset: { onrArrows: "" } })
  assert.ok(ownsKey(cells, "ArrowRight") && ownsKey(cells, "Home"))
  assert.ok(!ownsKey(cells, "PageDown") && !ownsKey(cells, " "))
})

test("our own scrubber leaves the keys to the page, so a remote still steps by one", () => {
  assert.ok(!ownsKey(node("INPUT", { dataset: { onrScrub: "" } }), "PageDown"))
})

test("modifiers, handled events and open dialogs are left alone", () => {
  assert.equal(pageAction(press("ArrowRight"), page()), "next")
  for (const flag of ["ctrlKey", "metaKey", "altKey", "shiftKey", "defaultPrevented"]) {
    assert.equal(pageAction(press("ArrowRight", undefined, { [flag]: true }), page()), null)
  }
  assert.ok(overlayOpen(page(true)))
  assert.equal(pageAction(press("ArrowRight"), page(true)), null)
})
