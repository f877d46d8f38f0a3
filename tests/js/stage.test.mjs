import assert from "node:assert/strict"
import test from "node:test"
import { namesOf, sharedGroups } from "../../assets/js/heads.mjs"
import { boxSize, transposed } from "../../assets/js/panel.mjs"
import { SvgPen, escapeXml } from "../../assets/js/pen.mjs"
import { followed, movedCursor, zoomedCell } from "../../assets/js/picture.mjs"
import { Run } from "../../assets/js/run.mjs"
import { fileName } from "../../assets/js/takeaway.mjs"
import { stageSentences, stepText, wantedRows } from "../../assets/js/words.mjs"
import { smallPayload } from "./helpers.mjs"

test("more rows are wanted only where the run can grow, and never beyond the context", () => {
  const payload = smallPayload({ nPrompt: 3, nSteps: 4 })
  assert.equal(wantedRows(payload, 4), 11)
  assert.equal(wantedRows(payload, 40), 16)
  for (const stop of ["end", "context"]) assert.equal(wantedRows(smallPayload({ stop })), 0)
  assert.equal(wantedRows({ ...payload, stop: { reason: "steps", more: false } }), 0)
  assert.equal(wantedRows({ ...payload, n_rows: 16 }), 0)
})

test("query heads stand with those that share their K/V head", () => {
  assert.deepEqual(sharedGroups(4, 2), [[0, 1], [2, 3]])
  assert.deepEqual(sharedGroups(4, 4), [[0], [1], [2], [3]])
  assert.equal(namesOf(smallPayload().heads, 1, 0), "previous token, sink")
  assert.equal(namesOf(smallPayload().heads, 0, 0), "")
})

test("shapes become boxes that grow with the context", () => {
  assert.equal(transposed("(12, 32)"), "(32, 12)")
  const [early, late] = [boxSize("(5, 32)", 40, 32), boxSize("(40, 32)", 40, 32)]
  assert.ok(late.height > early.height && late.width === early.width)
  assert.ok(boxSize("(1, 32)", 40, 32).height < 12)
  assert.ok(boxSize("(1,234, 32)", 2000, 32).height > 12)
})

test("the cell cursor stays on cells that exist", () => {
  const columns = (row) => row + 1
  assert.deepEqual(movedCursor({ row: 3, column: 3 }, "ArrowUp", 5, columns), { row: 2, column: 2 })
  assert.deepEqual(movedCursor({ row: 4, column: 0 }, "ArrowDown", 5, columns), { row: 4, column: 0 })
  assert.deepEqual(movedCursor({ row: 4, column: 0 }, "ArrowLeft", 5, columns), { row: 4, column: 0 })
  assert.deepEqual(movedCursor({ row: 4, column: 1 }, "End", 5, columns), { row: 4, column: 4 })
})

test("following jumps only when the row is out of sight, zoom keeps whole device pixels", () => {
  assert.equal(followed(0, 300, 100, 10), 0)
  assert.ok(followed(0, 300, 400, 10) > 100)
  assert.equal(followed(500, 300, 10, 10), 0)
  for (const dpr of [1, 1.5, 2]) {
    const larger = zoomedCell(6, 1, dpr)
    assert.ok(larger > 6 && Number.isInteger(larger * dpr))
    assert.ok(zoomedCell(6, -1, dpr) < 6)
  }
  assert.equal(zoomedCell(1, -1, 1), 1)
})

test("user text in an SVG is text, whatever it holds", () => {
  const pen = new SvgPen()
  pen.text('<script>alert("x")</script>&\u0000\ud83d', 1, 2, { size: 14, family: '"A", b', fill: "#000" })
  const svg = pen.document(10.2, 20, "a <b> & c")
  assert.ok(!svg.includes("<script") && !svg.includes("<b>") && !svg.includes("\u0000"))
  assert.ok(svg.includes("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;\ufffd\ufffd"))
  assert.equal(escapeXml("שלום 👋"), "שלום 👋")
  assert.match(svg, /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" width="11" height="20"/)
})

test("file names are plain", () => {
  assert.equal(fileName("Attention, layer 1, head 3 (previous token) step 4", "png"), "attention-layer-1-head-3-previous-token-step-4.png")
  assert.equal(fileName("··", "svg"), "one-new-row.svg")
})

test("the stage says what the picture does not show", () => {
  const run = new Run({ ...smallPayload(), recorded: true, mask_check: { sentence: "Equal to 0." }, notes: ["Kept the last 9 tokens."] })
  const view = { layer: 0, head: 1, scale: "sqrt", view: "rows", mask: true }
  const rows = stageSentences(run, view, false).join(" ")
  assert.match(rows, /^Recorded run.*hatched cells.*nothing later is in the cache\. Equal to 0\. Kept the last 9 tokens\.$/)
  const cache = stageSentences(run, { ...view, view: "cache" }, true).join(" ")
  assert.match(cache, /holds K and V, not these rows, and no Q.*Heads 0 and 1 read the same K\/V head 0/)
  assert.equal(stepText(run, 0), "Prefill")
  assert.equal(stepText(run, 2), "Step 2 of 4: e")
})
