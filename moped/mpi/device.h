// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the files of transport moped share: device.c (descriptors), backoff.c (modes), moped.c.

#ifndef MB_DEVICE_H
#define MB_DEVICE_H

#include "moped.h"
#include "transport.h"

// Posts a send or receive. 0: the device refused, and nothing was done.
int mb_device_post(struct mb_request *request);
// Polls the request that is waited for and a few others. Whether one of them completed.
int mb_device_poll(void);
// Decides each descriptor in back-off: appends those that were revoked to `*revoked`, in the order in
// which they were posted, and leaves those that matched.
void mb_device_revoke(struct mb_request **revoked);
// Of the published form: the request that was found revoked, removed; NULL if there is none.
struct mb_request *mb_device_take_revoked(void);
// Removes a descriptor that has not matched; whether it has not.
int mb_device_withdraw(struct mb_request *request);
// Also those that hold a message for a matched probe.
int mb_device_descriptors(void);
// 1: found, 0: not found, -1: in back-off.
int mb_device_probe(int context, int source, int tag, MPI_Status *status, struct mb_message *message);
void mb_device_take(struct mb_request *request, struct mb_message *message);
// The youngest posted send to the destination of `down_to` that is older than `after` (NULL: any) and not
// older than `down_to`; NULL if there is none.
struct mb_request *mb_device_youngest_send(const struct mb_request *down_to, struct mb_request *after);

// Modes (backoff.c).
void mb_backoff_start(void);
int mb_sends_in_software(void);
int mb_receives_in_software(void);
// After a refusal or revocation: what was revoked is sent and received in software.
void mb_backoff_begin(void);
// Follows a back-off that another process began, and returns from it. Whether anything changed.
int mb_backoff_progress(void);

#endif
