import assert from "node:assert/strict"
import test from "node:test"
import { SLOW_MS, sweepStepMs, termsAt } from "../../assets/js/sweepclock.mjs"
import { SweepData, filled, ratioText, signedText, typedRows, upperToFloat, wholeText } from "../../assets/js/sweepdata.mjs"
import { progressAt, sweepLayout, weightAt } from "../../assets/js/sweeppicture.mjs"

const base64 = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("base64")
const [D_IN, D_OUT] = [4, 3]

/** A matrix of 4 x 3 in three encodings; column j of W is row j here, as the weights lie in memory. */
const payload = {
  format: 1, d_in: D_IN, d_out: D_OUT, max_rows: 512, own_rows: 5,
  blocks: { along_in: 2, along_out: 1 }, drawn_rows: [0, 1, 2, 3, 4, 8],
  x: base64(Float32Array.of(1, -2, 0.5, 4)), x_levels: base64(new Int8Array(6 * 2)),
  presets: [["decode", 1, "one"]], words: {},
  dtypes: {
    float16: precision("half", Uint16Array.of(0x3c00, 0xbc00, 0x3800, 0, 0, 0, 0, 0x3c00, 0x4000, 0, 0, 0), 8, 2),
    bfloat16: precision("bfloat", Uint16Array.of(0x3f80, 0xbf80, 0x3f00, 0, 0, 0, 0, 0x3f80, 0x4000, 0, 0, 0), 8, 2),
    float32: precision("single", Float32Array.of(1, -1, 0.5, 0, 0, 0, 0, 1, 2, 0, 0, 0), 16, 4),
    int8: precision("int8", Int8Array.of(1, -1, 127, 0, 0, 0, 0, 2, 5, 0, 0, 0), 6, 2, Uint16Array.of(0x3c00, 0x3800, 0x4000), 1),
    // Numbers plus 8, the first of a byte low: 1, -1 | 7, 0.
    int4: precision("int4", Uint8Array.of(0x79, 0x8f, 0x88, 0x98, 0x8a, 0x88), 6, 2, Uint16Array.of(0x3c00, 0x4000, 0, 0x3c00, 0x3c00, 0x3c00), 2),
  },
}
function precision(encoding, weights, columnBytes, width, scales = new Uint16Array(0), nGroups = 0) {
  return {
    encoding, weights: base64(weights), scales: base64(scales), n_groups: nGroups,
    grid: base64(new Int8Array(2 * 3)), outputs: base64(Float32Array.of(3.25, 4, 2)), out_levels: base64(new Int8Array(6 * 3)),
    column_bytes: columnBytes, weight_bytes: 3 * columnBytes, activation_width: width, ideal_intensity: 1,
    closed_form_holds: true, is_torchs_product: true,
    errors: [[1, "1e-7", "0.1"], [4, "2e-7", "0.1"], [9, "2e-7", "0.4"]],
  }
}
const sweep = new SweepData(payload)

test("every encoding reads back the same weights", () => {
  const expected = [1, -1, 0.5, 0]
  for (const name of ["float16", "bfloat16", "float32"]) {
    assert.deepEqual([0, 1, 2, 3].map((row) => sweep.weight(name, row, 0).value), expected)
    assert.equal(sweep.weight(name, 3, 1).value, 1)
    assert.equal(sweep.weight(name, 0, 2).value, 2)
    assert.equal(sweep.weight(name, 0, 2).code, null)
  }
  assert.deepEqual(sweep.weight("int8", 2, 0), { value: 127, code: 127, scale: 1 })
  assert.deepEqual(sweep.weight("int8", 3, 1), { value: 1, code: 2, scale: 0.5 })
  assert.deepEqual(sweep.weight("int8", 0, 2), { value: 10, code: 5, scale: 2 })
  assert.deepEqual([0, 1, 2, 3].map((row) => sweep.weight("int4", row, 0).code), [1, -1, 7, 0])
  assert.deepEqual(sweep.weight("int4", 2, 0), { value: 14, code: 7, scale: 2 })
  assert.equal(upperToFloat(0xc248), -50)
})

test("the running sum adds term by term, and all of them are the computed output", () => {
  assert.equal(sweep.runningSum("float32", 0, 0), 0)
  assert.equal(sweep.runningSum("float32", 0, 1), 1)
  assert.equal(sweep.runningSum("float32", 0, 2), 3)
  assert.equal(sweep.runningSum("float32", 0, 3), 3.25)
  assert.equal(sweep.runningSum("float32", 0, 4), 3.25)
  assert.equal(sweep.runningSum("float32", 1, 4), 4)
})

test("counters are whole counts: proportional to columns, and to rows but for the weights", () => {
  const one = sweep.counters("float16", 1, 1)
  assert.deepEqual([one.weightsRead, one.bytes, one.multiplyAdds, one.flops], [4, 8, 4, 8])
  assert.deepEqual([one.activationsIn, one.activationsOut, one.activationBytes], [4, 1, 10])
  for (let columns = 0; columns <= D_OUT; columns++) {
    for (const rows of [1, 5, 512]) {
      const now = sweep.counters("float16", rows, columns)
      assert.equal(now.bytes, columns * 8)
      assert.equal(now.flops, 2 * now.multiplyAdds)
      assert.equal(now.multiplyAdds, rows * columns * D_IN)
      assert.equal(now.activationsOut, rows * columns)
    }
  }
  const all = sweep.counters("int4", 7, D_OUT)
  assert.equal(all.bytes, payload.dtypes.int4.weight_bytes)
  assert.equal(all.weightsRead, D_IN * D_OUT)
  assert.equal(all.perWeightByte, (2 * 7 * 12) / 18)
})

test("a step back takes away exactly one column", () => {
  for (let step = 1; step <= D_OUT; step++) {
    const [after, before] = [sweep.counters("int8", 5, step), sweep.counters("int8", 5, step - 1)]
    assert.equal(after.bytes - before.bytes, 6)
    assert.equal(after.weightsRead - before.weightsRead, D_IN)
    assert.equal(after.flops - before.flops, 2 * 5 * D_IN)
  }
})

test("terms within a column never overtake it", () => {
  let last = -1
  for (let terms = 0; terms <= D_IN; terms++) {
    const { bytes } = sweep.counters("int8", 1, 1, terms)
    assert.ok(bytes >= last && bytes <= 12)
    last = bytes
  }
  assert.deepEqual(sweep.counters("int8", 3, 0, D_IN).bytes, sweep.counters("int8", 3, 1).bytes)
})

test("errors are those of the rows that are shown, drawn rows those within R", () => {
  assert.deepEqual(sweep.errors("int8", 1), ["1e-7", "0.1"])
  assert.deepEqual(sweep.errors("int8", 8), ["2e-7", "0.1"])
  assert.deepEqual(sweep.errors("int8", 512), ["2e-7", "0.4"])
  assert.deepEqual([1, 5, 6, 9, 512].map((rows) => sweep.drawnWithin(rows)), [1, 5, 5, 6, 6])
})

test("a payload of another format is refused", () => {
  assert.throws(() => new SweepData({ ...payload, format: 2 }), /format must be 1, got 2/)
})

test("typed rows: whole numbers in range, nothing else", () => {
  for (const bad of ["", " ", "0", "-1", "1.5", "1e3", "1e40", "NaN", "many", "513", "0x10", "٣", "9".repeat(400)]) {
    assert.equal(typedRows(bad, 512), null, bad)
  }
  assert.equal(typedRows(" 64 ", 512), 64)
  assert.equal(typedRows("512", 512), 512)
})

test("the first column is slow, later ones are never slower, the whole sweep takes seconds", () => {
  for (const columns of [64, 128, 352, 1024]) {
    const times = Array.from({ length: columns + 1 }, (_, step) => sweepStepMs(step, columns))
    assert.equal(times[1], Math.max(...times))
    for (let step = 2; step <= columns; step++) assert.ok(times[step] <= times[step - 1])
    const total = times.reduce((a, b) => a + b)
    assert.ok(total > 6000 && total < 17_000, `${columns} columns take ${total} ms`)
  }
  assert.ok(SLOW_MS[1] >= 3000)
})

test("terms run from none to all, and rest on the sum", () => {
  for (const stepMs of [3600, 650, 20]) {
    let last = 0
    for (let ms = 0; ms <= stepMs; ms += stepMs / 50) {
      const terms = termsAt(ms, stepMs, 128)
      assert.ok(terms >= last && terms <= 128)
      last = terms
    }
    assert.equal(termsAt(0, stepMs, 128), 0)
    assert.equal(termsAt(stepMs * 0.95, stepMs, 128), 128)
  }
})

test("progress: step s has swept s columns once its motion is over", () => {
  assert.deepEqual(progressAt(0, 0, 250, 128), { columns: 0, terms: 0, column: -1, moving: false, slow: false })
  const start = progressAt(1, 0, 3600, 128)
  assert.deepEqual([start.columns, start.terms, start.moving], [0, 0, true])
  const done = progressAt(7, 650, 650, 128)
  assert.deepEqual([done.columns, done.terms, done.column, done.moving], [7, 0, 6, false])
})

test("W has its place whatever the rows, and everything stays inside", () => {
  for (const [width, height] of [[770, 270], [1000, 470], [350, 330]]) {
    const room = { width, height, type: 14, cellsIn: 32, cellsOut: 88, dOut: 352 }
    const lays = [1, 5, 64, 512].map((rows) => sweepLayout({ ...room, rows }))
    for (const lay of lays) {
      assert.deepEqual(lay.w, lays[0].w)
      assert.ok(lay.x.x >= 0 && lay.x.x + lay.x.width <= lay.w.x)
      assert.ok(lay.w.x + lay.w.width <= width)
      assert.ok(lay.out.y + lay.out.height <= height)
      assert.ok(lay.out.y > lay.w.y + lay.w.height)
    }
    for (let i = 1; i < lays.length; i++) assert.ok(lays[i].out.height > lays[i - 1].out.height)
  }
})

test("a point finds its weight, its output, or nothing", () => {
  const lay = sweepLayout({ width: 770, height: 270, type: 14, cellsIn: 32, cellsOut: 88, dOut: 352, rows: 1 })
  const { w, out } = lay
  assert.deepEqual(weightAt(lay, 128, w.x + 0.1, w.y + 0.1), { row: 0, column: 0 })
  assert.deepEqual(weightAt(lay, 128, w.x + w.width - 0.1, w.y + w.height - 0.1), { row: 127, column: 351 })
  assert.deepEqual(weightAt(lay, 128, w.x + 0.1, out.y + 2), { row: -1, column: 0 })
  assert.equal(weightAt(lay, 128, w.x - 2, w.y + 5), null)
  assert.equal(weightAt(lay, 128, w.x + 5, w.y + w.height + 3), null)
})

test("texts", () => {
  assert.equal(wholeText(134217728), "134,217,728")
  assert.deepEqual([ratioText(0.5), ratioText(3.5556), ratioText(295.22), ratioText(1820.44)], ["0.50", "3.56", "295.2", "1,820.4"])
  assert.equal(signedText(-0.41824), "−0.4182")
  assert.equal(filled("Column {column}: {unknown}", { column: "7" }), "Column 7: {unknown}")
})
