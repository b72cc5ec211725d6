/** A word of the system where an upstream takes none: models know this form from the agents that use it. */
export const reminder = (text: string): string => `<system-reminder>${text}</system-reminder>`
