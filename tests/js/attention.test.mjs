import assert from "node:assert/strict"
import test from "node:test"
import { AttentionPainter } from "../../assets/js/attention.mjs"
import { CachePainter } from "../../assets/js/cacheview.mjs"
import { colorRamp } from "../../assets/js/draw.mjs"
import { paintBorder, plateReach, visibleRange, wrapLines } from "../../assets/js/paint.mjs"
import { Run, STEP_MS, continuesRun } from "../../assets/js/run.mjs"
import { attentionLayout, newCellAt, rangeOf } from "../../assets/js/triangle.mjs"
import { RecordingPen, THEME, fakeCanvas, smallPayload } from "./helpers.mjs"

fakeCanvas()
const theme = {
  ...THEME, newRamp: colorRamp("#ffffff", "#0072b2"), cachedRamp: colorRamp("#ffffff", "#5a6b7b"),
  negativeRamp: colorRamp("#ffffff", "#9a5200", 0), positiveRamp: colorRamp("#ffffff", "#542788", 0),
}
const view = { layer: 1, head: 1, scale: "linear", mask: false }
const room = { width: 700, height: 420, cell: null, dpr: 1, narrow: false }
const all = { x: 0, y: 0, width: 2000, height: 2000 }
const painterOf = (payload = smallPayload(), more = {}) => new AttentionPainter(new Run(payload), { ...view, ...more }, theme)

/** The cells of one row among the strokes, by their colour. */
const rowCells = (pen, lay, row) =>
  pen.of("rect").filter(([, x, y]) => x >= lay.left && Math.abs(y - (lay.top + row * lay.cell)) < 0.01).map(([, x, y, w, h, fill]) => [x, y, w, h, fill])

test("rows of the real weights sum to 1 and the steps count them", () => {
  const run = new Run(smallPayload())
  const weights = run.triangle("weights", 1, 1)
  for (let row = 0, at = 0; row < run.nRows; at += ++row) {
    const sum = weights.slice(at, at + row + 1).reduce((a, b) => a + b)
    assert.ok(Math.abs(sum - 1) < 2e-3)
  }
  assert.deepEqual([0, 1, 4, 99].map((step) => run.rowsAt(step)), [3, 4, 7, 7])
  assert.deepEqual([0, 1, 4].map((step) => run.newestRow(step)), [-1, 3, 6])
})

test("the layout holds all rows of the run from the start, at every size of window", () => {
  for (const nRows of [2, 12, 27, 64, 82]) {
    const lay = attentionLayout({ ...room, nRows, type: 14 })
    assert.ok(lay.contentWidth + lay.rail <= room.width && lay.contentHeight + lay.band <= room.height, `${nRows} rows`)
    assert.equal(lay.cell, Math.round(lay.cell), "whole device pixels")
  }
  const long = attentionLayout({ ...room, nRows: 256, type: 14 })
  assert.ok(long.cell >= 4 && long.contentHeight > room.height, "256 rows scroll")
  assert.equal(attentionLayout({ ...room, nRows: 27, type: 14, dpr: 1.5 }).cell * 1.5 % 1, 0)
})

test("a step turns the newest row from blue to slate and changes nothing else about it or the others", () => {
  const painter = painterOf()
  const lay = painter.layout(room)
  const draw = (step) => {
    const pen = new RecordingPen()
    painter.paintBase(pen, lay, painter.settledRows(step, STEP_MS), all)
    painter.paintMoving(pen, lay, step, STEP_MS, all)
    return pen
  }
  const [before, after] = [draw(2), draw(3)]
  for (let row = 0; row < 4; row++) assert.deepEqual(rowCells(after, lay, row), rowCells(before, lay, row))
  const [blue, slate] = [rowCells(before, lay, 4), rowCells(after, lay, 4)]
  assert.deepEqual(slate.map((cell) => cell.slice(0, 4)), blue.map((cell) => cell.slice(0, 4)))
  blue.forEach(([, , , , fill], i) => {
    assert.equal(theme.newRamp.indexOf(fill), theme.cachedRamp.indexOf(slate[i][4]), "the same strength in the other hue")
  })
})

test("drawing only the row that became still equals drawing everything again", () => {
  const painter = painterOf()
  const lay = painter.layout(room)
  const [whole, grown] = [new RecordingPen(), new RecordingPen()]
  painter.paintBase(whole, lay, 5, all)
  painter.paintSettled(grown, lay, 4, all)
  assert.deepEqual(rowCells(grown, lay, 4), rowCells(whole, lay, 4))
  assert.ok(grown.strokes.length < whole.strokes.length)
})

test("a frame depends on run, step and time only", () => {
  const painter = painterOf()
  const lay = painter.layout(room)
  const frame = (ms) => {
    const pen = new RecordingPen()
    painter.paintMoving(pen, lay, 2, ms, all)
    return pen.strokes
  }
  const first = frame(500)
  frame(1100)
  frame(0)
  assert.deepEqual(frame(500), first)
})

test("the new row draws from left to right, then softmax settles it into the weights", () => {
  const widths = (ms) => Array.from({ length: 8 }, (_, c) => newCellAt(0.5, 0.2, c, 8, ms, "linear").width)
  assert.deepEqual(widths(250), Array(8).fill(0))
  assert.deepEqual(widths(500), [1, 1, 1, 1, 0, 0, 0, 0])
  assert.deepEqual(widths(750), Array(8).fill(1))
  assert.notEqual(newCellAt(0.5, 0.2, 0, 8, 750, "linear").strength, 0.5)
  assert.equal(newCellAt(0.5, 0.2, 0, 8, STEP_MS, "linear").strength, 0.5)
})

test("the first frame of a step already shows which row is new", () => {
  const painter = painterOf()
  const lay = painter.layout(room)
  const pen = new RecordingPen()
  painter.paintMoving(pen, lay, 1, 0, all)
  assert.ok(pen.of("box").some(([, , , , , stroke]) => stroke === theme.new))
})

test("the mask covers the upper half of prefill only; decode has neither mask nor future", () => {
  const painter = painterOf(smallPayload({ nPrompt: 3, nSteps: 2 }), { mask: true })
  const lay = painter.layout(room)
  const pen = new RecordingPen()
  painter.paintBase(pen, lay, 5, all)
  const masked = pen.of("rect").filter(([, , , , , fill]) => fill === theme.soft)
  assert.equal(masked.length, 3)
  assert.equal(pen.of("box").length, 0)
})

test("future tokens are not given away before their step", () => {
  const painter = painterOf()
  const lay = painter.layout(room)
  const pen = new RecordingPen()
  painter.paintBase(pen, lay, 3, all)
  const words = new Set(pen.of("text").map(([, text]) => text))
  assert.deepEqual([...words].sort(), ["a", "b", "c"])
})

test("a cell says q·k, the scaled score, the weight and both tokens; the future says why it has none", () => {
  const painter = painterOf()
  const text = JSON.stringify(painter.describe({ row: 4, column: 2 }))
  for (const part of ["e asks c", "query 4, key 2", "q·k = ", "scaled × 0.5000 = ", "softmax → "]) assert.ok(text.includes(part), part)
  assert.match(painter.describe({ row: 0, column: 2 }).lines[0], /−∞/)
  assert.match(painter.describe({ row: 4, column: 5 }).lines[0], /not in the cache/)
})

test("pointing finds the cell that is drawn there, scrolled or not, and only what exists", () => {
  const painter = painterOf()
  const lay = painter.layout(room)
  for (const at of [{ ...all }, { ...all, x: 7, y: 11 }]) {
    const box = painter.cellBox({ row: 3, column: 1 }, lay, at)
    assert.deepEqual(painter.hit(lay, box.x + 1, box.y + 1, at, 1), { row: 3, column: 1 })
    assert.equal(painter.hit(lay, box.x + 1, box.y + 1, at, 0), null)
  }
})

test("the cache view has one row a token in K and in V, and its newest entry is outlined", () => {
  const painter = new CachePainter(new Run(smallPayload()), view, theme)
  const lay = painter.layout(room)
  const pen = new RecordingPen()
  painter.paintBase(pen, lay, painter.settledRows(2), all)
  assert.equal(pen.of("rect").length, 4 * 2 * 2)
  painter.paintMoving(pen, lay, 2, STEP_MS, all)
  assert.equal(pen.of("box").filter(([, , , , , stroke]) => stroke === theme.new).length, 2)
  assert.match(painter.describe({ row: 1, column: 3 }).lines[0], /^V\[1, 1\] = /)
  const texts = pen.of("text").map(([, text]) => text)
  assert.ok(texts.includes("K") && texts.includes("V") && !texts.includes("Q"))
})

test("a longer run of the same story continues it, another prompt does not", () => {
  const [short, long] = [new Run(smallPayload({ nSteps: 2 })), new Run(smallPayload({ nSteps: 6 }))]
  assert.ok(continuesRun(short, long))
  assert.ok(continuesRun(long, short))
  assert.ok(!continuesRun(short, new Run(smallPayload({ words: "zyxwvutsrqponm" }))))
  assert.ok(!continuesRun(null, long))
})

test("remarks about the border never run into the legend, however short the prompt", () => {
  for (const nPrompt of [1, 2, 5, 40, 200]) {
    const lay = attentionLayout({ nRows: 245, width: 560, height: 418, cell: 1, dpr: 1, type: 14, narrow: false })
    const at = { x: 0, y: 0, width: Math.min(560 - lay.rail, lay.contentWidth), height: 418 }
    const pen = new RecordingPen()
    paintBorder(pen, lay, THEME, { nPrompt }, at, ["prefill, all at once: its last row chose ·She", "decode, one row a step"])
    const lines = pen.of("text").map(([, , , y]) => y)
    assert.ok(lines.length >= 2)
    assert.ok(Math.min(...lines) - 14 / 2 >= lay.legendBottom - 14 * 0.5, `${nPrompt}: ${lines}`)
    for (const y of lines) assert.ok(y + 7 <= at.height)
  }
})

test("small helpers", () => {
  assert.deepEqual(rangeOf(Float32Array.of(9, -1, 4, 2), 1, 3), { low: -1, high: 4 })
  assert.deepEqual(visibleRange(25, 50, 10, 100), [2, 8])
  assert.deepEqual(wrapLines("one two three", {}, 60), ["one two", "three"])
  assert.deepEqual(plateReach(4, 2, 20, 14), { up: 14 * 0.62, down: 14 * 0.62 })
  assert.ok(plateReach(5, 2, 7, 14).up > 14)
})
