// What ingestion remembers of files between runs, and what of them points nowhere.
ALTER TABLE File ADD IF NOT EXISTS _manifest STRING;
ALTER TABLE File ADD IF NOT EXISTS _draft STRING;
ALTER TABLE File ADD IF NOT EXISTS _modifiedAt INT64;
ALTER TABLE File ADD IF NOT EXISTS brokenLinks STRING[];
ALTER TABLE MarkdownSection ADD IF NOT EXISTS brokenLinks STRING[];
ALTER TABLE MarkdownSection ADD IF NOT EXISTS _chunks INT64;
ALTER TABLE TextSection ADD IF NOT EXISTS _chunks INT64;
ALTER TABLE Scope ADD IF NOT EXISTS _chunks INT64;
ALTER TABLE Section ADD IF NOT EXISTS _chunks INT64;
ALTER TABLE Directory ADD IF NOT EXISTS root STRING;
ALTER TABLE Directory ADD IF NOT EXISTS location STRING;
ALTER TABLE Directory ADD IF NOT EXISTS rules STRING;
