// @ts-check
/** The stage of "One new row": triangle or cache, heads, panel and transport over one stored run. */
import { AttentionPainter } from "./attention.mjs"
import { CachePainter } from "./cacheview.mjs"
import { el, segmented, setAttr, setText } from "./dom.mjs"
import { readTheme } from "./draw.mjs"
import { HeadStrip } from "./heads.mjs"
import { keepStages } from "./mount.mjs"
import { Panel } from "./panel.mjs"
import { Picture } from "./picture.mjs"
import { STEP_MS, continuesRun, phaseNumber, runOf } from "./run.mjs"
import { storeGet, storeSubscribe } from "./store.mjs"
import { Synced } from "./sync.mjs"
import { pictureMenu } from "./takeaway.mjs"
import { Transport } from "./transport.mjs"
import { describeView, pictureTitle, stageLabels, stageSentences, stepText, wantedRows } from "./words.mjs"

/** How long an answer to a wish may take before the viewer's next wish is sent again. */
const PATIENCE_MS = 15_000

class NewRowStage {
  /** @param {any} parent a ShadowRoot, or the element of the offline page */
  constructor(parent) {
    this.control = new AbortController()
    const { signal } = this.control
    this.view = { pick: new Synced({ layer: 0, head: 0 }), scale: new Synced("sqrt"), view: new Synced("rows"), mask: new Synced(false) }
    /** @type {any} */
    this.data = {}
    /** @type {((name: string, value: any) => void)|null} */
    this.send = null
    this.reports = 0
    /** @type {import("./run.mjs").Run|null} */
    this.run = null
    /** @type {import("./run.mjs").Run|null} */
    this.compare = null
    this.nonce = /** @type {any} */ (undefined)
    this.asked = { rows: 0, at: 0 }
    this.build(parent, signal)
    storeSubscribe((key) => this.isMine(key) && this.load(), signal)
    document.fonts?.addEventListener("loadingdone", () => this.redraw(), { signal })
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.retheme(), { signal })
  }

  /** @param {any} parent @param {AbortSignal} signal */
  build(parent, signal) {
    this.root = parent.querySelector("[data-onr='stage']")
    this.waiting = el("p", { class: "onr-waiting", role: "status" }, "Waiting for the run…")
    this.pictures = el("div", { class: "onr-pictures" })
    const side = el("div", { class: "onr-side" })
    const panel = el("aside", { class: "onr-panel", "aria-label": "This step" })
    this.body = el("div", { class: "onr-body" }, this.pictures, side, panel)
    this.foot = el("div", { class: "onr-foot" })
    this.stage = el("div", { class: "onr-stage", hidden: true }, this.body, this.foot)
    this.root.replaceChildren(this.waiting, this.stage)
    this.transport = new Transport(this.foot, {
      label: stageLabels().next, stepMs: STEP_MS, signal,
      paint: (step, ms) => this.paint(step, ms),
      caption: (step) => this.run?.frame(step).caption ?? "",
      valueText: (step) => this.run ? stepText(this.run, step) : "",
      onStep: (step) => this.emit("step", step),
      wantMore: () => this.wantMore(),
      endSentence: () => this.endSentence(),
    })
    const options = { repaint: () => this.transport.schedule(), signal }
    this.main = new Picture(this.pictures, options)
    this.second = new Picture(this.pictures, options)
    this.strip = new HeadStrip(side, (pick) => this.choose("pick", pick))
    this.panel = new Panel(panel, side, signal)
    this.buildExtras(signal)
  }

  /** @param {AbortSignal} signal */
  buildExtras(signal) {
    const { extras } = this.transport
    this.viewSwitch = segmented("View", [["rows", "Rows"], ["cache", "K, V cache"]], (value) => this.choose("view", value))
    this.scaleSwitch = segmented("Colour scale of weights", [["linear", "linear"], ["sqrt", "√"], ["log", "log"]], (value) => this.choose("scale", value))
    this.maskButton = el("button", { type: "button", "aria-pressed": "false", title: "Show the mask of prefill, and that decode has none",
      click: () => this.choose("mask", !this.view.mask.value) }, "Mask")
    extras.append(this.viewSwitch.host, this.scaleSwitch.host, this.maskButton)
    pictureMenu(extras, () => this.frameNow(), () => `${this.titleNow()} step ${this.transport.step}`, signal)
  }

  /** Streamlit calls this for each change of data or theme. @param {any} component */
  update({ data, setStateValue }) {
    this.data = data ?? {}
    this.send = setStateValue ?? null
    const { pick, scale, view, mask } = this.view
    if (Number.isInteger(this.data.layer)) pick.receive({ layer: this.data.layer, head: this.data.head ?? 0 })
    scale.receive(this.data.scale)
    view.receive(this.data.view)
    mask.receive(this.data.mask)
    this.root.classList.toggle("onr-lecture", Boolean(this.data.lecture))
    this.root.classList.toggle("onr-compact", this.data.layout === "compact")
    this.transport.options.label = stageLabels(this.data.labels).next
    this.retheme()
    this.load()
  }

  retheme() {
    const theme = readTheme(this.root)
    if (theme.key === this.theme?.key) return
    this.theme = theme
    if (this.run) this.refresh()
  }

  /** Letters drawn before their font arrived are drawn again. */
  redraw() {
    this.main.baseKey = this.second.baseKey = ""
    this.transport.schedule()
  }

  /** @param {string} key */
  isMine(key) {
    return [this.data.run, this.data.compare, `${this.data.run}:proof`].includes(key)
  }

  /** Take what the store has; a run on its way leaves the old picture standing. */
  load() {
    const next = runOf(storeGet(this.data.run))
    if (!next) return
    const prev = this.run
    this.run = next
    this.compare = runOf(storeGet(this.data.compare))
    this.waiting.hidden = true
    this.stage.hidden = false
    const commanded = this.data.step_nonce !== this.nonce
    this.nonce = this.data.step_nonce
    const keeps = continuesRun(prev, next) && !commanded
    if (next !== prev && !keeps) this.asked = { rows: 0, at: 0 }
    if (prev && keeps && next.nRows > prev.nRows) this.keepCells()
    else if (next !== prev && !continuesRun(prev, next)) this.main.cell = this.second.cell = null
    if (next !== prev || commanded) this.transport.setSteps(next.lastStep, keeps ? null : this.data.step ?? 0)
    else this.transport.setSteps(next.lastStep)
    this.refresh()
  }

  /** Rows that exist do not move when a run grows: the cells keep their size, and the window scrolls. */
  keepCells() {
    for (const picture of [this.main, this.second]) picture.cell ??= picture.lay?.cell ?? null
  }

  /** New painters for what is seen now; cheap, as runs decode each head once. */
  refresh() {
    const run = /** @type {import("./run.mjs").Run} */ (this.run)
    const view = this.viewNow(run)
    const make = (/** @type {any} */ of) =>
      view.view === "cache" ? new CachePainter(of, view, this.theme) : new AttentionPainter(of, view, this.theme)
    this.main.setPainter(make(run), describeView(view))
    this.second.figure.hidden = !this.compare
    this.root.classList.toggle("onr-two", Boolean(this.compare))
    this.main.narrow = this.second.narrow = Boolean(this.compare || this.data.lecture)
    if (this.compare) this.second.setPainter(make(this.compare), describeView(view))
    const labels = stageLabels(this.data.labels)
    setText(this.main.title, this.compare ? labels.run : "")
    setText(this.second.title, labels.compare)
    this.root.classList.toggle("onr-recorded", Boolean(run.payload.recorded))
    this.viewSwitch.show(view.view)
    this.scaleSwitch.show(view.scale)
    this.scaleSwitch.host.hidden = view.view === "cache"
    this.maskButton.hidden = view.view === "cache"
    setAttr(this.maskButton, "aria-pressed", String(view.mask))
    this.transport.showNote(stageSentences(run, view, !this.send))
    this.transport.show()
    this.transport.schedule()
  }

  /** The view with layer and head inside the model. @param {import("./run.mjs").Run} run */
  viewNow(run) {
    const { layer, head } = this.view.pick.value
    return {
      layer: Math.min(Math.max(0, layer), run.model.n_layers - 1),
      head: Math.min(Math.max(0, head), run.model.n_heads - 1),
      scale: this.view.scale.value, view: this.view.view.value, mask: this.view.mask.value,
    }
  }

  /** The viewer chose; it shows at once, the server hears of it. @param {"pick"|"scale"|"view"|"mask"} name @param {any} value */
  choose(name, value) {
    const synced = /** @type {Synced<any>} */ (this.view[name])
    if (!synced.choose(value)) return
    if (name === "view") this.main.cell = this.second.cell = null
    this.emit(name, value)
    this.refresh()
  }

  /** Reports are numbered: the same choice made twice counts twice. @param {string} name @param {any} value */
  emit(name, value) {
    this.send?.(name, ["step", "pick", "want"].includes(name) ? { value, n: ++this.reports } : value)
  }

  /** Ask for more rows, once a size; true while they may still come. */
  wantMore() {
    const rows = this.run && this.send ? wantedRows(this.run.payload) : 0
    if (!rows || !this.transport.touched) return false
    if (this.asked.rows === rows && performance.now() - this.asked.at < PATIENCE_MS) return true
    this.asked = { rows, at: performance.now() }
    this.emit("want", rows)
    return true
  }

  /** Why the last step is the last, or nothing where more may come. */
  endSentence() {
    if (!this.run) return ""
    const { payload } = this.run
    if (this.send && wantedRows(payload)) return ""
    return payload.stop.reason === "steps" && !this.send ? "This saved run ends here." : payload.stop.sentence
  }

  titleNow() {
    return this.run ? pictureTitle(this.run, this.viewNow(this.run)) : ""
  }

  frameNow() {
    const { step, ms } = this.transport
    const painters = [this.main.painter, ...(this.compare ? [this.second.painter] : [])]
    const { run, compare } = stageLabels(this.data.labels)
    const title = this.titleNow()
    const titles = this.compare ? [`${title}: ${run}`, compare] : [title]
    return { painters, titles, caption: this.run?.frame(step).caption ?? "", step, ms, theme: this.theme }
  }

  /** A frame: everything below follows from (run, view, step, ms). @param {number} step @param {number} ms */
  paint(step, ms) {
    const { run, compare } = this
    if (!run || this.stage.hidden) return
    this.main.paint(step, ms)
    const other = compare ? { run: compare, step: Math.min(step, compare.lastStep) } : null
    if (other) this.second.paint(other.step, other.step < step ? STEP_MS : ms)
    this.strip.paint(run, this.viewNow(run), this.theme, step)
    this.panel.paint(run, step, phaseNumber(ms), other, stageLabels(this.data.labels))
    this.panel.showProof(storeGet(`${this.data.run}:proof`), step)
  }

  dispose() {
    this.control.abort()
  }
}

/** Component entry. */
export const mountNewRow = keepStages((parent) => new NewRowStage(parent))
export default mountNewRow
