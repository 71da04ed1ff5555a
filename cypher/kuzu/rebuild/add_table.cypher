CREATE NODE TABLE `%label%`(`%column%` %kind%, PRIMARY KEY(`%column%`))
