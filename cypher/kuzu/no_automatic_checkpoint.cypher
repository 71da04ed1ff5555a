CALL auto_checkpoint=false
