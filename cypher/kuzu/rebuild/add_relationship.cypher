CREATE REL TABLE `%type%`(FROM `%source%` TO `%target%`)
