// SPDX-License-Identifier: Apache-2.0 OR MIT
// The command `matchbench` of tests/forked.py: asks the server at SOCKET to run the command in a fork of itself, with
// the standard streams, directory, arguments and environment of this process, and ends as that fork ends.

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static volatile sig_atomic_t child;
static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

static void fail(const char *what)
{
    fprintf(stderr, "tests/forked.c: %s: %s\n", what, strerror(errno));
    _exit(125);
}

static void forward(int number) { kill((pid_t)child, number); }

static void append(char **text, size_t *length, const char *word)
{
    size_t added = strlen(word) + 1;
    *text = realloc(*text, *length + added);
    if (!*text)
        fail("realloc");
    memcpy(*text + *length, word, added);
    *length += added;
}

static int number(int server)
{
    int value;
    if (recv(server, &value, sizeof value, MSG_WAITALL) != sizeof value)
        fail("the server ended");
    return value;
}

int main(int argc, char **argv)
{
    sigset_t blocked;
    sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++)
        sigaddset(&blocked, forwarded[i]);
    sigprocmask(SIG_BLOCK, &blocked, NULL);

    // Directory, number of arguments, arguments, environment.
    char *text = NULL, count[16], *directory = getcwd(NULL, 0);
    size_t length = 0;
    if (!directory)
        fail("getcwd");
    append(&text, &length, directory);
    snprintf(count, sizeof count, "%d", argc - 1);
    append(&text, &length, count);
    for (int i = 1; i < argc; i++)
        append(&text, &length, argv[i]);
    for (char **variable = environ; *variable; variable++)
        append(&text, &length, *variable);

    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = SOCKET};
    if (server < 0 || connect(server, (struct sockaddr *)&address, sizeof address))
        fail(SOCKET);
    unsigned bytes = (unsigned)length;
    struct iovec head = {&bytes, sizeof bytes};
    union {
        char room[CMSG_SPACE(3 * sizeof(int))];
        struct cmsghdr header;
    } control = {0};
    struct msghdr message = {.msg_iov = &head, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    struct cmsghdr *streams = CMSG_FIRSTHDR(&message);
    streams->cmsg_level = SOL_SOCKET;
    streams->cmsg_type = SCM_RIGHTS;
    streams->cmsg_len = CMSG_LEN(3 * sizeof(int));
    memcpy(CMSG_DATA(streams), (int[]){0, 1, 2}, 3 * sizeof(int));
    if (sendmsg(server, &message, 0) != sizeof bytes)
        fail("sendmsg");
    for (size_t sent = 0; sent < length;) {
        ssize_t more = send(server, text + sent, length - sent, MSG_NOSIGNAL);
        if (more < 0)
            fail("send");
        sent += (size_t)more;
    }

    child = number(server);
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++)
        sigaction(forwarded[i], &(struct sigaction){.sa_handler = forward, .sa_flags = SA_RESTART}, NULL);
    sigprocmask(SIG_UNBLOCK, &blocked, NULL);
    int status = number(server);
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(WEXITSTATUS(status));
}
