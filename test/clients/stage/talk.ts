import { z } from 'zod'

/** What the clients ask of the sandbox, and what they must make of its answers, whatever the upstream speaks. */

export const HELLO = 'Hello'
export const HELLO_ANSWER = 'You said: "Hello". This is the sandbox speaking as swift: no model was asked.'

/** The sandbox answers it with a call of this tool, for `{ city: 'Paris' }`. */
export const QUESTION = 'What is the weather in Paris?'

export const TOOL = { name: 'get_weather', description: 'The weather of a city' }
export const CITY = z.object({ city: z.string() })
export type City = z.infer<typeof CITY>

/** Not a word of it is in the question: an answer that has it has seen the tool's result. */
export const forecast = ({ city }: City): string => `${city} expects 21 degrees and drizzle`

export const QUESTION_ANSWER = /^The tool get_weather returned: Paris expects 21 degrees and drizzle\n/

/** For an answer in this form. */
export const REPORT = z.object({ city: z.string(), degrees: z.number().int(), sky: z.enum(['clear', 'grey']) })
