/* `bulkhead doctor`: what this host can hold, found by doing what `run` does up to the gate. */
#ifndef BULKHEAD_DOCTOR_CMD_DOCTOR_H
#define BULKHEAD_DOCTOR_CMD_DOCTOR_H

/* Exit status: 0 the asked tier is available, 1 it is not, 2 wrong usage. */
int cmd_doctor(int argc, char **argv);

#endif
