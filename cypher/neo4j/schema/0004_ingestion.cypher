// One node per hold, by which one process at a time does what several must not do together.
CREATE CONSTRAINT graphmill_hold_key IF NOT EXISTS FOR (n:GraphmillHold) REQUIRE n.key IS UNIQUE;
