ALTER TABLE `%label%` ADD `%column%` %kind%
