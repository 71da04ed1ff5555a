// Goes on as the one who migrates; $moved is what a page moved, by project, to be added up by validate: what goes back counts against it.
MATCH (m:GraphmillMeta {key: 'migration'})
WHERE m.token = $token
SET m.until = datetime.realtime() + duration({seconds: $seconds})
FOREACH (page IN $moved | CREATE (:GraphmillMeta {key: page.key, kind: 'migrated page', project: page.project, rules: page.rules}))
RETURN m.key AS key
