ALTER TABLE %label% ADD IF NOT EXISTS `%column%` %kind%
