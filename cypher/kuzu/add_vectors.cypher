ALTER TABLE %label% ADD IF NOT EXISTS embedding FLOAT[%dimension%]
