// @ts-check
/** The life of a stage in a page: made once for its element, updated by every call, disposed of once. */

/**
 * A component's entry function. The page calls it again whenever data or theme change, and cleans up
 * with what the last call returned; a clean-up that a later call has overtaken does nothing.
 * @param {(parent: any) => { update: (component: any) => void, dispose: () => void }} make
 */
export function keepStages(make) {
  /** @type {WeakMap<object, { stage: ReturnType<typeof make>, generation: number }>} */
  const kept = new WeakMap()
  return (/** @type {any} */ component) => {
    const parent = component.parentElement
    const known = kept.get(parent) ?? { stage: make(parent), generation: 0 }
    kept.set(parent, known)
    const generation = ++known.generation
    known.stage.update(component)
    return () => {
      if (known.generation !== generation) return
      known.stage.dispose()
      kept.delete(parent)
    }
  }
}

/** Call `retheme` when the page's theme may have changed, or a font has arrived, until the signal aborts.
 * @param {() => void} retheme @param {AbortSignal} signal */
export function watchLook(retheme, signal) {
  document.fonts?.addEventListener("loadingdone", retheme, { signal })
  const watcher = new MutationObserver(retheme)
  watcher.observe(document.documentElement, { attributes: true, attributeFilter: ["class", "style", "data-theme"] })
  signal.addEventListener("abort", () => watcher.disconnect())
}
