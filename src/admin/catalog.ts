import { type ChannelsDeps, channelRoutes } from './channels.ts'
import { type ModelsDeps, modelRoutes } from './models.ts'
import type { Routes } from './route.ts'
import { type TranslationsDeps, translationRoutes } from './translations.ts'

export interface CatalogDeps extends ModelsDeps, ChannelsDeps, TranslationsDeps {}

/** What can be called, who answers, and what they are sent. */
export const catalogRoutes: Routes<CatalogDeps> = { ...modelRoutes, ...channelRoutes, ...translationRoutes }
