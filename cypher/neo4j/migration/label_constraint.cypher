CREATE CONSTRAINT graphmill_%label%_uuid IF NOT EXISTS FOR (n:%label%) REQUIRE n.uuid IS UNIQUE
