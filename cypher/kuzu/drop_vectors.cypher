ALTER TABLE %label% DROP IF EXISTS embedding
