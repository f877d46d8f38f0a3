// @ts-check
/**
 * Where heavy payloads wait in the browser: one Map for all components of the page, filled by
 * invisible carrier components and read by stages. A payload stays for as long as some mounted
 * carrier owns it, so that old runs never pile up.
 */

/** @typedef {{ payload: any, owners: Set<object> }} Entry */
const STORE_EVENT = "onr:store"

/** @returns {Map<string, Entry>} */
export function storeMap() {
  const scope = /** @type {any} */ (globalThis)
  scope.__oneNewRow ??= new Map()
  return scope.__oneNewRow
}

/** @param {string|null|undefined} key @returns {any} the payload, or null while it is on its way */
export function storeGet(key) {
  return (key && storeMap().get(key)?.payload) || null
}

/** What announces arrivals, one for all components. @returns {EventTarget} */
function storeBus() {
  const scope = /** @type {any} */ (globalThis)
  scope.__oneNewRowBus ??= new EventTarget()
  return scope.__oneNewRowBus
}

/**
 * Put a payload under a key for one owner; the same object again is no event.
 * @param {object} owner @param {string} key @param {any} payload
 */
export function storePut(owner, key, payload) {
  const map = storeMap()
  const entry = map.get(key) ?? { payload: null, owners: new Set() }
  entry.owners.add(owner)
  map.set(key, entry)
  if (entry.payload === payload) return
  entry.payload = payload
  storeBus().dispatchEvent(new CustomEvent(STORE_EVENT, { detail: { key } }))
}

/** Let go of what this owner holds, all but `keep`; what nobody owns is dropped.
 * @param {object} owner @param {string|null} [keep] */
export function storeRelease(owner, keep = null) {
  const map = storeMap()
  for (const [key, entry] of [...map]) {
    if (key === keep || !entry.owners.delete(owner) || entry.owners.size > 0) continue
    map.delete(key)
  }
}

/** Call back for each payload that arrives.
 * @param {(key: string) => void} listener @param {AbortSignal} signal */
export function storeSubscribe(listener, signal) {
  storeBus().addEventListener(
    STORE_EVENT,
    (event) => listener(/** @type {CustomEvent} */ (event).detail.key),
    { signal },
  )
}

/** @type {WeakMap<object, { generation: number }>} */
const carriers = new WeakMap()

/**
 * Component entry of the carrier: `data` is `{"key": str, "payload": object}`.
 * @param {{ parentElement: any, data: any }} component
 */
export function mountCarrier({ parentElement, data }) {
  const carrier = carriers.get(parentElement) ?? { generation: 0 }
  carriers.set(parentElement, carrier)
  const generation = ++carrier.generation
  if (data?.key) {
    storePut(carrier, data.key, data.payload)
    storeRelease(carrier, data.key)
  }
  return () => {
    if (carrier.generation !== generation) return
    storeRelease(carrier)
    carriers.delete(parentElement)
  }
}
export default mountCarrier
