/** What pages are built of. `Chart` is beside it in chart.tsx, for the pages that draw one. */
export { AccountSelect } from './account-select.tsx'
export { Badge, type Tone } from './badge.tsx'
export { Button, IconButton, LinkButton } from './button.tsx'
export { Code } from './code.tsx'
export { confirm } from './confirm.tsx'
export { CopyButton, CopyIcon, CopyText } from './copy.tsx'
export { Dialog } from './dialog.tsx'
export { Empty } from './empty.tsx'
export {
  CheckField,
  Field,
  MoneyField,
  type Option,
  PasswordField,
  SelectField,
  SwitchField,
  TextAreaField,
  TextField,
} from './field.tsx'
export { FilterBar, QuerySearch, QuerySelect } from './filters.tsx'
export { errorText, Form, type Submission, useSubmit } from './form.tsx'
export { Icon, type IconName } from './icon.tsx'
export { ErrorNote, Load } from './load.tsx'
export { Menu, type MenuItem } from './menu.tsx'
export { Meter } from './meter.tsx'
export { Note } from './note.tsx'
export { Card, Facts, PageHeader, Section } from './page.tsx'
export { Pager } from './pager.tsx'
export { Part } from './part.tsx'
export { type MoneyRefusal, moneyRefusalOf, REFUSAL_CODES, RefusalHelp } from './refusal.tsx'
export { Skeleton, SkeletonRows, SkeletonStats } from './skeleton.tsx'
export { Sparkline } from './sparkline.tsx'
export { Stat, Stats } from './stat.tsx'
export { type Column, Table } from './table.tsx'
export { Segments, type Tab, Tabs } from './tabs.tsx'
export { Keys, Money, Time } from './value.tsx'
