// @ts-check
/** The stage of "Weight sweep": controls, counters, picture and transport over one stored sweep. */
import { el, setAttr } from "./dom.mjs"
import { readTheme } from "./draw.mjs"
import { keepStages } from "./mount.mjs"
import { storeGet, storeSubscribe } from "./store.mjs"
import { sweepStepMs } from "./sweepclock.mjs"
import { SweepControls } from "./sweepcontrols.mjs"
import { filled, ratioText, sweepOf, wholeText } from "./sweepdata.mjs"
import { SweepPanel } from "./sweeppanel.mjs"
import { SweepPainter, progressAt } from "./sweeppicture.mjs"
import { SweepView } from "./sweepview.mjs"
import { Synced } from "./sync.mjs"
import { StillPicture, pictureMenu } from "./takeaway.mjs"
import { Transport } from "./transport.mjs"

const SWEEP_LABEL = "Next column ▶"
/** A column that is asked for by hand takes at least this long. */
const BY_HAND_MS = 650
/** The size of a saved picture, before it is made sharp. */
const SAVED_SWEEP = { width: 1000, height: 470 }

class SweepStage {
  /** @param {any} parent a ShadowRoot, or the element of the offline page */
  constructor(parent) {
    this.control = new AbortController()
    const { signal } = this.control
    /** @type {any} */
    this.data = {}
    /** @type {((name: string, value: any) => void)|null} */
    this.send = null
    /** @type {import("./sweepdata.mjs").SweepData|null} */
    this.sweep = null
    const synced = (/** @type {any} */ value) => /** @type {Synced<any>} */ (new Synced(value))
    this.choice = { matrix: synced("up"), layer: synced(0), position: synced(0), dtype: synced("bfloat16"), group: synced("32"), rows: synced(1) }
    this.nonce = /** @type {any} */ (undefined)
    this.shownKey = ""
    this.reports = 0
    this.build(parent, signal)
    storeSubscribe((key) => key === this.data.sweep && this.load(), signal)
    document.fonts?.addEventListener("loadingdone", () => this.repaint(), { signal })
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.retheme(), { signal })
  }

  /** @param {any} parent @param {AbortSignal} signal */
  build(parent, signal) {
    this.root = parent.querySelector("[data-onr='stage']") ?? parent.appendChild(el("div", { "data-onr": "stage" }))
    this.waiting = el("p", { class: "onr-waiting", role: "status" }, "Waiting for the weights…")
    const bar = el("div", { class: "onr-controls", role: "group", "aria-label": "What is swept" })
    const panel = el("div", { class: "onr-sweep-panel" })
    this.foot = el("div", { class: "onr-foot" })
    const middle = el("div", { class: "onr-sweep-middle" })
    this.stage = el("div", { class: "onr-stage", hidden: true }, bar, panel, middle, this.foot)
    this.root.replaceChildren(this.waiting, this.stage)
    this.controls = new SweepControls(bar, (change) => this.choose(change))
    this.panel = new SweepPanel(panel)
    this.transport = new Transport(this.foot, this.transportOptions(signal))
    pictureMenu(this.transport.extras, () => this.frameNow(), () => `sweep ${this.choice.matrix.value} column ${this.transport.step}`, signal)
    this.picture = new SweepView(middle, { repaint: () => this.transport.schedule(), signal })
  }

  /** @param {AbortSignal} signal */
  transportOptions(signal) {
    const stage = this
    return {
      label: SWEEP_LABEL, signal,
      get stepMs() {
        return stage.stepMs()
      },
      paint: (/** @type {number} */ step, /** @type {number} */ ms) => this.paint(step, ms),
      caption: (/** @type {number} */ step) => this.caption(step),
      valueText: (/** @type {number} */ step) => (step === 0 ? "Nothing read yet" : `${step} of ${this.sweep?.dOut ?? 0} columns read`),
      onStep: (/** @type {number} */ step) => this.emit("step", step),
      wantMore: () => false,
      endSentence: () => this.sweep?.payload.words.last ?? "",
    }
  }

  /** Milliseconds of the present step: the schedule of the sweep while it plays, longer by hand. */
  stepMs() {
    const step = this.transport?.step ?? 0
    const planned = sweepStepMs(step, this.sweep?.dOut ?? 1)
    return this.transport?.playing ? planned : Math.max(planned, BY_HAND_MS)
  }

  /** Streamlit calls this for each change of data or theme. @param {any} component */
  update({ data, setStateValue }) {
    this.data = data ?? {}
    this.send = setStateValue ?? null
    for (const [name, synced] of Object.entries(this.choice)) synced.receive(this.data[name])
    this.root.classList.toggle("onr-lecture", Boolean(this.data.lecture))
    this.retheme()
    this.load()
  }

  retheme() {
    const theme = readTheme(this.root)
    if (theme.key === this.theme?.key) return
    const style = getComputedStyle(this.root)
    for (const name of ["weights", "weights-text"]) theme[name] = style.getPropertyValue(`--c-${name}`).trim()
    this.theme = theme
    if (this.sweep) this.refresh()
  }

  /** A font has come: what was written with another one is written again. */
  repaint() {
    this.picture.forget()
    this.retheme()
    this.transport.schedule()
  }

  /** Take what the store has; weights on their way leave the old picture standing. */
  load() {
    const next = sweepOf(storeGet(this.data.sweep))
    if (!next) return
    const commanded = this.data.step_nonce !== this.nonce
    const same = this.shownKey === this.data.shape
    this.nonce = this.data.step_nonce
    this.shownKey = this.data.shape
    this.sweep = next
    this.waiting.hidden = true
    this.stage.hidden = false
    this.controls.offer(this.data.choices, next.payload)
    this.transport.setSteps(next.dOut, same && !commanded ? null : this.data.step ?? 0)
    this.refresh()
  }

  /** A new painter for what is seen now; the same view gives the same picture. */
  refresh() {
    const sweep = /** @type {import("./sweepdata.mjs").SweepData} */ (this.sweep)
    const view = this.view()
    const label = filled(sweep.payload.words.label, { matrix: sweep.payload.words.matrix })
    this.picture.setPainter(new SweepPainter(sweep, view, this.theme), label)
    this.controls.show(this.values())
    const { words } = sweep.payload
    const notes = [words.drawn, view.rows > sweep.payload.own_rows ? words.further : "", view.rows > 64 ? words.sampled : ""]
    this.transport.showNote(notes.filter(Boolean).map((note) => filled(note, { token: words.token })))
    this.transport.show()
    this.transport.schedule()
  }

  values() {
    return /** @type {any} */ (Object.fromEntries(Object.entries(this.choice).map(([name, synced]) => [name, synced.value])))
  }

  view() {
    return { dtype: this.choice.dtype.value, rows: this.choice.rows.value }
  }

  /** The viewer chose: rows and precision show at once, the rest when its weights arrive.
   * @param {Record<string, any>} change */
  choose(change) {
    const changed = Object.entries(change).filter(([name, value]) => /** @type {any} */ (this.choice)[name].choose(value))
    if (!changed.length) return
    this.emit("pick", this.wish(change))
    if (this.sweep) this.refresh()
  }

  /** The whole choice, because a report that follows quickly replaces the one before it. A group that
   * was refused is not asked for again, and the newest token stays the newest until another is chosen.
   * @param {Record<string, any>} change */
  wish(change) {
    const { position, ...rest } = this.values()
    const wanted = { ...rest, group: change.group ?? this.data.group }
    return position === this.data.position ? wanted : { ...wanted, position }
  }

  /** Numbered, so that the same report made twice counts twice. @param {string} name @param {any} value */
  emit(name, value) {
    this.send?.(name, { value, n: ++this.reports })
  }

  /** @param {number} step */
  caption(step) {
    if (!this.sweep) return ""
    const { words } = this.sweep.payload
    const { dtype, rows } = this.view()
    if (step === 0) return words.start
    const all = this.sweep.counters(dtype, rows, step)
    if (step === this.sweep.dOut) {
      return filled(words.end, { bytes: wholeText(all.bytes), flops: wholeText(all.flops), intensity: ratioText(all.perWeightByte) })
    }
    const macs = wholeText(rows * this.sweep.dIn)
    return filled(rows === 1 ? words.column.one : words.column.many, { column: wholeText(step - 1), rows: String(rows), macs })
  }

  frameNow() {
    const { step } = this.transport
    const { words } = /** @type {any} */ (this.sweep).payload
    const title = `${words.matrix}, ${this.choice.dtype.value}, ${this.choice.rows.value === 1 ? words.token : `${this.choice.rows.value} rows`}`
    const painter = new SweepPainter(/** @type {any} */ (this.sweep), this.view(), this.theme)
    const paint = (/** @type {any} */ pen, /** @type {any} */ lay, /** @type {number} */ column, /** @type {number} */ ms) => {
      painter.paintStill(pen, lay)
      painter.paintMoving(pen, lay, progressAt(column, ms, ms, painter.sweep.dIn))
    }
    const still = new StillPicture(painter, SAVED_SWEEP, painter.sweep.dOut, paint)
    return { painters: [still], titles: [title], caption: this.caption(step), step, ms: 1, theme: this.theme }
  }

  /** A frame: everything below follows from (sweep, view, step, ms). @param {number} step @param {number} ms */
  paint(step, ms) {
    if (!this.sweep || this.stage.hidden) return
    const now = this.picture.paint(step, ms, this.stepMs())
    if (now) this.panel.paint(this.sweep, this.view(), now)
    setAttr(this.root, "data-column", String(step))
  }

  dispose() {
    this.control.abort()
  }
}

/** Component entry. */
export const mountSweep = keepStages((parent) => new SweepStage(parent))
export default mountSweep
