ALTER TABLE `%type%` ADD FROM `%source%` TO `%target%`
