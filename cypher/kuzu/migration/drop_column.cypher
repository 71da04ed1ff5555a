ALTER TABLE %label% DROP IF EXISTS `%column%`
