import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { ChannelAttemptView, ChannelTestView, ChannelView } from '../../../src/admin/contract.ts'
import { api } from '../../app/api.ts'
import { duration } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { pathTo } from '../../app/router.ts'
import { Badge, Button, Code, Dialog, Form, Icon, SelectField, Skeleton, useSubmit } from '../../kit/index.ts'
import { rememberTest } from './tests.ts'

interface TestDialogProps {
  readonly channel: ChannelView
  readonly onClose: () => void
}

/** Asks the channel one tiny question in each protocol and shows what went out and what came back. */
export function TestDialog({ channel, onClose }: TestDialogProps) {
  const texts = t().channels.test
  const ids = Object.keys(channel.models)
  const model = useSignal(ids[0] ?? '')
  const result = useSignal<ChannelTestView | null>(null)
  const test = useSubmit(async () => {
    result.value = null
    const path = `${pathTo('channels', channel.name)}/test`
    result.value = await api.post<ChannelTestView>(path, { model: model.value })
    rememberTest(result.value)
  })
  useEffect(() => {
    test.submit()
  }, [])
  return (
    <Dialog
      title={texts.title(channel.name)}
      look="large"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{t().common.close}</Button>
          <Button type="submit" form="channel-test" kind="primary" icon="bolt" isBusy={test.isBusy}>
            {texts.again}
          </Button>
        </>
      }
    >
      <Form submission={test} id="channel-test" fields={['model']}>
        <p class="prose">{texts.text}</p>
        <SelectField
          label={t().channels.model}
          value={model}
          error={test.errorOf('model')}
          options={ids.map(id => ({ value: id, label: id }))}
          onChange={() => test.submit()}
        />
        <div class="stack" aria-live="polite" aria-busy={test.isBusy ? 'true' : undefined}>
          {test.isBusy && <Waiting />}
          {result.value?.attempts.map(attempt => (
            <Attempt key={attempt.client} attempt={attempt} />
          ))}
        </div>
      </Form>
    </Dialog>
  )
}

function Waiting() {
  return (
    <>
      {['chat', 'messages'].map(protocol => (
        <div key={protocol} class="card channels-attempt">
          <Skeleton width="45%" />
          <Skeleton width="80%" />
        </div>
      ))}
      <span class="hidden-text">{t().channels.test.running}</span>
    </>
  )
}

function Attempt({ attempt }: { readonly attempt: ChannelAttemptView }) {
  const { client, upstream, ok, duration_ms, request, answer, error } = attempt
  const { test: texts, protocols } = t().channels
  return (
    <section class="card channels-attempt">
      <header class="row spread">
        <h3>{texts.asked(protocols[client])}</h3>
        <span class="row">
          <span class="numeric faint">{duration(duration_ms)}</span>
          <Badge tone={ok ? 'good' : 'bad'}>
            <Icon name={ok ? 'check' : 'close'} size={12} />
            {ok ? texts.answered : texts.failed}
          </Badge>
        </span>
      </header>
      <p class="small faint">{client === upstream ? texts.passedOn : texts.translated(protocols[upstream])}</p>
      {error && (
        <div class="channels-error">
          <code>{error.code}</code>
          <p>{error.message}</p>
        </div>
      )}
      {answer !== null && <blockquote class="channels-answer">{answer === '' ? texts.emptyAnswer : answer}</blockquote>}
      <details class="channels-more">
        <summary>{texts.request}</summary>
        <Code text={JSON.stringify(request, null, 2)} label={texts.request} isLow />
      </details>
    </section>
  )
}
