// Package proof has only tests: they show that an import keeps its promises whatever happens to it. Its
// process is killed, frozen and weighed; its disk loses power; the service fails, refuses and lies; the
// caller's functions fail, panic and block; and random programs run against a model of what must come
// of them.
//
// They use what a user can use, and internal/testevents. Proofs that look inside the root are in the
// root, and those that need other machines or a real disk in faults.
package proof
