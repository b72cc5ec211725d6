import { useSignal } from '@preact/signals'
import { type ComponentType, createElement } from 'preact'
import { useEffect } from 'preact/hooks'
import { toastError } from './toasts.tsx'

/** Draws a component that is fetched when it is first needed. */
export function Lazy({ load }: { readonly load: () => Promise<ComponentType> }) {
  const loaded = useSignal<{ readonly component: ComponentType } | null>(null)
  useEffect(() => {
    load().then(component => {
      loaded.value = { component }
    }, toastError)
  }, [])
  return loaded.value && createElement(loaded.value.component, {})
}
