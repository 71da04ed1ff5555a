// The wikis that a project takes articles from, and what expansion remembers of an article between runs.
CREATE NODE TABLE IF NOT EXISTS Wiki(%bookkeeping_1%, lang STRING, source STRING, location STRING[], contact STRING, rate INT64, _crawls STRING, _stale BOOLEAN, _unswept BOOLEAN);
ALTER TABLE Article ADD IF NOT EXISTS wiki STRING;
ALTER TABLE Article ADD IF NOT EXISTS redirects STRING[];
ALTER TABLE Article ADD IF NOT EXISTS _links STRING;
ALTER TABLE Article ADD IF NOT EXISTS _sections STRING;
ALTER TABLE Article ADD IF NOT EXISTS _redirect STRING;
ALTER TABLE Article ADD IF NOT EXISTS _relink BOOLEAN;
ALTER TABLE Article ADD IF NOT EXISTS _seed BOOLEAN;
ALTER TABLE Category ADD IF NOT EXISTS wiki STRING;
