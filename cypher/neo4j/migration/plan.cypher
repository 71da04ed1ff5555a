// What each rule would move where, without moving it. Reads only.
%part rules%
WITH rule, label, goesTo, goesTo = 'ready' AND hasAny AS keepsVector, CASE WHEN rule = '10-unknown-word' THEN word END AS unknown, coalesce(toStringOrNull(p.uuid), elementId(n)) AS known
RETURN rule, label, goesTo AS to, unknown, count(*) AS count, min(known) AS least, max(known) AS most,
    sum(CASE WHEN keepsVector THEN 1 ELSE 0 END) AS kept
