import { useComputed } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { List, ModelView } from '../../../src/admin/contract.ts'
import { t } from '../../app/language.ts'
import { useResource } from '../../app/resource.ts'
import { href } from '../../app/router.ts'
import { account, isAdmin } from '../../app/session.ts'
import { Button, CopyButton, Empty, LinkButton, Load, PageHeader, Skeleton } from '../../kit/index.ts'
import { Composer } from './composer.tsx'
import { Conversation } from './conversation.tsx'
import { keepLane } from './draft.ts'
import { LaneHeads } from './heads.tsx'
import { lanesOf } from './lanes.ts'
import { firstModel } from './models.ts'
import { SettingsPanel } from './panel.tsx'
import { shareLink, takeShared } from './share.ts'
import { billedAccount, isBusy, prompt, rounds, settings, startOver } from './state.ts'

export function Page() {
  const models = useResource<List<ModelView>>('/models')
  const texts = t().playground
  useWarning()
  useEffect(() => {
    prompt.value = takeShared(location.hash, settings.value) ?? prompt.value
  }, [])
  return (
    <>
      <PageHeader
        title={t().nav.playground}
        text={texts.intro}
        actions={
          <>
            <CopyButton text={shareLink(prompt.value, settings.value)} label={texts.copyLink} />
            <Button icon="plus" isDisabled={rounds.value.length === 0} onClick={startOver}>
              {texts.startOver}
            </Button>
          </>
        }
      />
      <Load resource={models} skeleton={<Skeleton height="20rem" />}>
        {({ data }) => (data.some(isShown) ? <Playground models={data.filter(isShown)} /> : <NoModels />)}
      </Load>
    </>
  )
}

const isShown = ({ enabled }: ModelView) => enabled

function Playground({ models }: { readonly models: readonly ModelView[] }) {
  const first = firstModel(models)
  const lanes = useComputed(() => lanesOf(first)).value
  useEffect(() => {
    if (lanes[0]) keepLane(lanes[0])
  }, [lanes])
  return (
    <div class="playground">
      <LaneHeads models={models} lanes={lanes} />
      <SettingsPanel />
      <div class="playground-main">
        <Conversation lanes={lanes} />
        <Composer lanes={lanes} />
        <p class="playground-billed">
          {t().playground.billed(
            billedAccount.value ?? account.value?.name ?? t().playground.ownAccount,
            t().playground.cap,
          )}
        </p>
      </div>
    </div>
  )
}

/** An answer that is on its way is paid for, and would be lost. */
function useWarning(): void {
  const busy = isBusy.value
  useEffect(() => {
    if (!busy) return
    const warn = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', warn)
    return () => removeEventListener('beforeunload', warn)
  }, [busy])
}

function NoModels() {
  const texts = t().playground
  return (
    <Empty
      icon="models"
      title={texts.noModels}
      text={isAdmin.value ? texts.noModelsAdmin : texts.noModelsMember}
      action={isAdmin.value && <LinkButton href={href('/channels')}>{texts.toChannels}</LinkButton>}
    />
  )
}
