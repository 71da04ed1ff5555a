// Whether columns were dropped and no checkpoint followed yet.
MATCH (m:GraphmillMeta) WHERE m.key = 'reshaped' AND m.number = 1 RETURN m.key
