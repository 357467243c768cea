/* `bulkhead run`. */
#ifndef BULKHEAD_LAUNCH_CMD_RUN_H
#define BULKHEAD_LAUNCH_CMD_RUN_H

/* argv[0] is the subcommand's word.  Returns the exit status. */
int cmd_run(int argc, char **argv);

#endif
