import assert from "node:assert/strict"
import test from "node:test"
import { figuresJson, linesCsv } from "../../assets/js/curves.mjs"
import { LinePainter, axisShare, clipSegment, drawPath, labelPlace, spreadLabels } from "../../assets/js/linechart.mjs"

const axis = (min, max) => ({ min, max, label: "", ticks: [] })

test("a value lies on its axis at the right share, linear and logarithmic", () => {
  assert.equal(axisShare(25, axis(0, 100), "linear"), 0.25)
  assert.ok(Math.abs(axisShare(10, axis(1, 100), "log") - 0.5) < 1e-12)
  assert.ok(axisShare(0, axis(1, 100), "log") < 0, "zero is below every logarithmic axis")
})

test("what leaves the chart is cut at its edge and not bent", () => {
  assert.deepEqual(clipSegment([0, 0], [1, 2]), [[0, 0], [0.5, 1]])
  assert.deepEqual(clipSegment([-1, 0.5], [1, 0.5]), [[0, 0.5], [1, 0.5]])
  assert.equal(clipSegment([0, 2], [1, 3]), null)
  assert.equal(clipSegment([0, 2], [1, 2]), null)
  assert.deepEqual(clipSegment([0.2, 0.3], [0.4, 0.5]), [[0.2, 0.3], [0.4, 0.5]])
})

test("labels that would overlap are moved apart in order and stay inside", () => {
  assert.deepEqual(spreadLabels([10, 12, 14], 10, 0, 100), [10, 20, 30])
  const low = spreadLabels([95, 96, 97], 10, 0, 100)
  assert.deepEqual(low, [80, 90, 100])
  assert.deepEqual(spreadLabels([], 10, 0, 100), [])
})

test("a path is one element in an SVG", () => {
  const pen = { parts: [] }
  drawPath(pen, [[0, 0], [10, 10]], "red", 2, [6, 4])
  drawPath(pen, [[0, 0], [10, 10], [10, 0]], "", 0, [], "green")
  drawPath(pen, [[0, 0]], "red", 2)
  assert.equal(pen.parts.length, 2)
  assert.match(pen.parts[0], /^<polyline points="0,0 10,10".*stroke-dasharray="6 4"/)
  assert.match(pen.parts[1], /^<polygon .*fill="green"/)
})

const chart = {
  id: "c", label: "", levels: [], marks: [], cursor: null, x_texts: ["one", "two", "three"],
  scales: { linear: { kind: { x: "linear", y: "linear" }, x: axis(0, 4), y: axis(0, 8) }, log: { kind: { x: "log", y: "log" }, x: axis(1, 4), y: axis(1, 10) } },
  lines: [
    { id: "a", label: "cache", color: "ink", x: [1, 2, 4], y: [2, 4, 8], texts: ["2 B", "4 B", "8 B"] },
    { id: "b", label: "", color: "ink", x: [1, 2, 4], y: [1, 1, 1] },
  ],
}
const lay = { left: 10, top: 10, chartWidth: 100, chartHeight: 100, type: 14 }

test("the sampled point under the pointer is found on both scales, and none outside", () => {
  const linear = new LinePainter(chart, "linear", {})
  assert.equal(linear.hit(lay, 12, 50), 0)
  assert.equal(linear.hit(lay, 105, 50), 2)
  assert.equal(linear.hit(lay, 5, 50), null)
  assert.equal(linear.hit(lay, 50, 500), null)
  assert.equal(new LinePainter(chart, "log", {}).hit(lay, 60, 50), 1)
})

test("a point is read off with its place and every line that has words", () => {
  assert.deepEqual(new LinePainter(chart, "linear", {}).describe(1), { title: "two", rows: ["cache: 4 B"] })
})

test("an unknown scale falls back to the first", () => {
  assert.equal(new LinePainter(chart, "cubic", {}).scale, chart.scales.linear)
})

test("corners of a line run through its points", () => {
  const corners = new LinePainter(chart, "linear", {}).corners(lay, [0, 4], [0, 8])
  assert.deepEqual(corners, [[10, 110], [110, 10]])
})

test("a mark's label stays in the chart and off the line", () => {
  const room = { left: 0, top: 0, chartWidth: 400, chartHeight: 200, type: 14 }
  assert.ok(labelPlace(100, 50, 80, room).dx > 0 && labelPlace(100, 50, 80, room).dy > 0)
  assert.ok(labelPlace(380, 50, 80, room).dx < -80 && labelPlace(380, 50, 80, room).dy < 0)
  assert.ok(labelPlace(10, 195, 80, room).dy < 0)
})

test("lines are taken away as they were drawn", () => {
  assert.equal(linesCsv(chart), "x,a,b\n1,2,1\n2,4,1\n4,8,1\n")
  const found = JSON.parse(figuresJson({ title: "t", figures: { batch: 1 }, formulas: [["a = b", "1 = 1"]], notes: [], charts: [chart] }))
  assert.deepEqual(found.curves.c[0], { id: "a", x: [1, 2, 4], y: [2, 4, 8] })
  assert.deepEqual(found.formulas, { "a = b": "1 = 1" })
})
