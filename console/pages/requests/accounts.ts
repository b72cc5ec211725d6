import { accounts, isAdmin } from '../../app/session.ts'

/** Whether it has to be said whose a request is. */
export const hasAccounts = (): boolean => isAdmin.value && accounts.value.length > 1

export const accountName = (id: string): string => accounts.value.find(account => account.id === id)?.name ?? id
