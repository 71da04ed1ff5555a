// Runs over a source, the parts that they read it in, and the processes that work on them.
CREATE NODE TABLE IF NOT EXISTS IngestionRun(%bookkeeping_1%, type STRING, source STRING, `options` STRING, outcome STRING, startedAt TIMESTAMP, finishedAt TIMESTAMP, readAt TIMESTAMP, watermarkBefore TIMESTAMP, watermarkAfter TIMESTAMP);
CREATE NODE TABLE IF NOT EXISTS Partition(%bookkeeping_1%, kind STRING, `key` STRING, root STRING, outcome STRING, plan STRING, nextOffset INT64, finishedAt TIMESTAMP);
CREATE NODE TABLE IF NOT EXISTS Worker(%bookkeeping_1%, host STRING, process INT64, version STRING, stages STRING[], heartbeat TIMESTAMP);
CREATE REL TABLE IF NOT EXISTS HAS_PARTITION(FROM IngestionRun TO Partition, `index` INT64);
ALTER TABLE File ADD IF NOT EXISTS _content STRING;
ALTER TABLE Directory ADD IF NOT EXISTS host STRING;
ALTER TABLE Wiki ADD IF NOT EXISTS _moved BOOLEAN;
