// How many sources were parsed and linked, how many texts embedded, and how many nodes came to rest
// in the last $seconds, and since when, by the store's clock.
// A stage sets the time of the last change too, so that one scan for recent changes finds all.
WITH datetime.realtime() AS now
WITH now, now - duration({seconds: $seconds}) AS start
MATCH (n:File|Directory|MarkdownSection|Scope|TextSection|Chunk|Article|Section|Category|Wiki|Adopted)
WHERE n.projectId = $project AND n._stateChangedAt >= start
WITH now, start, n, n:File OR n:Article AS isSource, NOT n:File|Directory|Chunk|Article|Category|Wiki AS isText
UNWIND [
    {stage: 'parse', at: CASE WHEN isSource THEN n._parsedAt END},
    {stage: 'link', at: CASE WHEN isSource THEN n._linkedAt END},
    {stage: 'embed', at: CASE WHEN isText THEN n._embeddedAt END},
    {stage: 'rest', at: CASE WHEN n._state IN ['ready', 'skip', 'error'] THEN n._stateChangedAt END}
] AS passed
WITH now, start, passed WHERE passed.at >= start
RETURN passed.stage AS stage, count(*) AS count, min(passed.at) AS since, now AS now
