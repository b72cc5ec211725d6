import { href } from '../../app/address.ts'
import { t } from '../../app/language.ts'
import { session } from '../../app/session.ts'
import { Card, CopyText, Facts, Section } from '../../kit/index.ts'

export function About() {
  const texts = t().settings
  const who = session.value
  if (!who) return null
  return (
    <Section title={texts.about}>
      <Card>
        <Facts
          facts={[
            [texts.version, who.version],
            [texts.baseUrl, <CopyText key="url" text={who.base_url} />],
            [texts.mode, who.is_sandbox ? texts.sandbox : texts.real],
            [texts.role, who.role === 'admin' ? t().common.admin : t().common.member],
            [
              texts.documentation,
              <a key="api" href={href('/api')}>
                {texts.documentationLink}
              </a>,
            ],
          ]}
        />
      </Card>
    </Section>
  )
}
