/** Strokes on a grid of 24. Decoration only: what they mean stands beside them or in a label. */
const PATHS = {
  overview: 'M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-3H4zM14 7h6V4h-6z',
  keys: 'M15.5 8.5h.01M14 14.5a5.5 5.5 0 1 0-4.2-2L3.5 19v1.5H7V18h2v-2l2-1.9a5.5 5.5 0 0 0 3 .4z',
  billing: 'M4 7.5A2.5 2.5 0 0 1 6.5 5H17v3M4 7.5V17a2.5 2.5 0 0 0 2.5 2.5H20V8H6M16.5 13.8h.01',
  requests: 'M4 6h16M4 12h16M4 18h10',
  models: 'M12 3.5 20 8v8l-8 4.5L4 16V8zM12 12l8-4M12 12v8.5M12 12 4 8',
  channels: 'M5 5h14v5H5zM5 14h14v5H5zM8.5 7.5h.01M8.5 16.5h.01',
  playground: 'M7 4.5v15l12-7.5z',
  people:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM3 20a6 6 0 0 1 12 0M16 4.5a3.5 3.5 0 0 1 0 6.5M17.5 14.5A6 6 0 0 1 21 20',
  settings:
    'M4 7h9M19 7h1M4 17h1M11 17h9M16 9.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM8 19.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z',
  api: 'M9 5c-3 0-1 6-5 7 4 1 2 7 5 7M15 5c3 0 1 6 5 7-4 1-2 7-5 7',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM20 20l-4-4',
  plus: 'M12 5v14M5 12h14',
  check: 'M5 12.5 10 17.5 19.5 7',
  close: 'M6 6l12 12M18 6 6 18',
  copy: 'M9 9h11v11H9zM15 9V4H4v11h5',
  more: 'M5 12.5a.5 .5 0 1 0 0-1 .5 .5 0 0 0 0 1zM12 12.5a.5 .5 0 1 0 0-1 .5 .5 0 0 0 0 1zM19 12.5a.5 .5 0 1 0 0-1 .5 .5 0 0 0 0 1z',
  chevron: 'M9 6l6 6-6 6',
  down: 'M6 9l6 6 6-6',
  back: 'M15 6l-6 6 6 6',
  external: 'M14 5h5v5M19 5l-9 9M18 14v5H5V6h5',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  refresh: 'M20 12a8 8 0 1 1-2.5-5.8L20 8.5M20 4v4.5h-4.5',
  warning: 'M12 4 2.8 19.5h18.4zM12 10v4.5M12 17h.01',
  info: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 11v5M12 8h.01',
  eye: 'M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12zM12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6z',
  hidden:
    'M4 4l16 16M10 6c.6-.2 1.3-.3 2-.3 6 0 9.5 6.3 9.5 6.3a16 16 0 0 1-3 3.7M6.5 7.5A15 15 0 0 0 2.5 12S6 18.3 12 18.3a9 9 0 0 0 4-1M10 10a3 3 0 0 0 4 4',
  pause: 'M9 5v14M15 5v14',
  edit: 'M4 20h4L19 9l-4-4L4 16zM13 7l4 4',
  trash: 'M4 7h16M9 7V4h6v3M6.5 7l1 13h9l1-13M10 11v5.5M14 11v5.5',
  bolt: 'M13 3 5 14h6l-1 7 8-11h-6z',
  clock: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7v5l3.5 2',
  table: 'M4 5h16v14H4zM4 10h16M4 14.5h16M10 10v9',
  chart: 'M4 20h16M7 16v-5M12 16V6M17 16v-8',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z',
  signOut: 'M14 4H5v16h9M10 12h10M16.5 8.5 20 12l-3.5 3.5',
  link: 'M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7L12 7M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7L12 17',
  gift: 'M4 11h16v9H4zM3 7.5h18V11H3zM12 7.5V20M12 7.5C9 7.5 7 6.5 7 5s2-2 3-1 2 3.5 2 3.5zM12 7.5c3 0 5-1 5-2.5s-2-2-3-1-2 3.5-2 3.5z',
  bell: 'M6 16V10.5a6 6 0 0 1 12 0V16l1.5 2h-15zM10 20.5h4',
  lock: 'M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3',
  filter: 'M4 6h16l-6 7v6l-4-2v-4z',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  )
}
