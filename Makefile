# SPDX-License-Identifier: GPL-2.0
#
# For users; kbuild reads Kbuild.  "make help" lists the targets.

# Version of the module, the command and the manual pages.  CHANGELOG.md begins with it.
VERSION := 1.0

# The kernel to build for, and the output directory.
KDIR ?= /lib/modules/$(shell uname -r)/build
release := $(or $(shell sed -n 's/^.define UTS_RELEASE "\(.*\)"/\1/p' '$(KDIR)/include/generated/utsrelease.h' 2>/dev/null),$(shell uname -r))
tests := $(filter-out 0 n,$(TESTS))
BUILD ?= $(CURDIR)/build/$(release)$(if $(tests),-tests)
build := $(abspath $(BUILD))
module := $(build)/stackbuf.ko

# Static memory, in KiB: event ring, stack table, text log, and pairs of probes (0: no pairs).
EVENTS_KB ?= 2048
STACKS_KB ?= 1024
TEXT_KB ?= 1024
PAIRS_KB ?= 4096

# Most frames kept of a trace.
FRAMES ?= 127

# Optional parts: probes, the deepest stacks, memory that survives a reset.
PROBES ?= y
DEEPEST ?= y
KEEP ?= y

# y: build all files in one unit, see Kbuild
UNIT ?= n

PREFIX ?= /usr/local
DESTDIR ?=
# kbuild and tools/Makefile run elsewhere
override DESTDIR := $(if $(DESTDIR),$(if $(filter /%,$(firstword $(DESTDIR))),,$(CURDIR)/)$(DESTDIR))
# The scripts that are useful on machines that run the module.
programs := scripts/stackbuf-crash scripts/stackbuf-decode
pages := $(wildcard man/*.[1-9])
# For modules that call stackbuf
headers := stackbuf.h stackbuf_format.h
share = $(DESTDIR)$(PREFIX)/share
man = $(DESTDIR)$(PREFIX)/share/man/man$(subst .,,$(suffix $(1)))/$(notdir $(1))
# Put the version into the page's header
install_page = install -D -m 644 $(1) '$(man)' && sed -i '/^\.TH /s/ "\?stackbuf"\? / "stackbuf $(VERSION)" /' '$(man)'

# A user's PATH may lack the directories of insmod and other programs.
export PATH := $(PATH):/usr/sbin:/sbin

kbuild = $(MAKE) -C '$(KDIR)' M='$(build)' \
	STACKBUF_EVENTS_KB=$(EVENTS_KB) STACKBUF_STACKS_KB=$(STACKS_KB) \
	STACKBUF_TEXT_KB=$(TEXT_KB) STACKBUF_PAIRS_KB=$(PAIRS_KB) STACKBUF_FRAMES=$(FRAMES) STACKBUF_PROBES=$(PROBES) STACKBUF_DEEPEST=$(DEEPEST) STACKBUF_KEEP=$(KEEP) \
	STACKBUF_MODULE_VERSION=$(VERSION) STACKBUF_UNIT=$(UNIT) \
	$(if $(tests),CONFIG_STACKBUF_TEST=m)

# The configuration of a kernel built with gcc enables options that clang lacks.  kbuild takes no CC
# from the environment.
ifneq ($(and $(filter command override,$(firstword $(origin CC))),$(filter clang%,$(notdir $(CC)))),)
ifneq ($(wildcard $(KDIR)/include/config/CC_IS_GCC),)
kbuild += CONFIG_CC_IS_GCC= CONFIG_CC_IS_CLANG=y CONFIG_SLS= CONFIG_MITIGATION_SLS= \
	CONFIG_RETHUNK= CONFIG_MITIGATION_RETHUNK= CONFIG_FTRACE_MCOUNT_USE_CC= \
	CONFIG_INIT_STACK_ALL_ZERO= CONFIG_CC_IMPLICIT_FALLTHROUGH=-Wimplicit-fallthrough \
	KCFLAGS='$(KCFLAGS) -Wno-unknown-warning-option -Wno-duplicate-decl-specifier'
endif
endif

# If kbuild has no signing key, its programs print long error messages
sig_key := $(or $(shell sed -n 's/^CONFIG_MODULE_SIG_KEY="*\([^"]*\)"*$$/\1/p' '$(KDIR)/include/config/auto.conf' 2>/dev/null),none)
unsigned := $(if $(filter pkcs11:%,$(sig_key))$(wildcard $(sig_key) $(KDIR)/$(sig_key)),,CONFIG_MODULE_SIG_ALL=)

# On distributions with RPMs the packages have other names
rpm := $(shell sed -nE '/^ID(_LIKE)?=.*(rhel|fedora)/p' /etc/os-release 2>/dev/null)
headers_package := $(if $(rpm),kernel-devel,linux-headers)-$(release)

# Print one line and stop.  $(,) is a comma in that line.
, := ,
fail = { echo "stackbuf: $(1)" >&2; exit 1; }
# Blanks, and what make or the shell would take for its own
checked_name = [ -z "$$(printf %s "$$PWD" | LC_ALL=C tr -d 'A-Za-z0-9/._+=,@~\200-\377-')" ] || \
	$(call fail,$(1) cannot work in a directory with such a character in its name: $$PWD)

.PHONY: all module tools load unload install install-tools install-headers uninstall dist deb rpm setup check test test-ci test-all test-long demo bench clean help \
	test-suite test-debug test-kasan test-arm64 test-matrix test-limits test-faults test-fuzz test-kernel test-order \
	test-packages test-fleet test-graft soak

all: module tools
	@echo 'built $(module:$(CURDIR)/%=%) for kernel $(release)$(if $(wildcard build/tools/stackbuf),$(,) and build/tools/stackbuf)'
	@[ '$(release)' != "$$(uname -r)" ] || echo 'next: sudo make load$(foreach name,BUILD TESTS,$(if $(filter command%,$(origin $(name))), $(name)=$($(name)))) PARAMS=probe=vfs_read$(if $(wildcard build/tools/stackbuf),; sudo build/tools/stackbuf log --last 3)'
	@[ '$(release)' = "$$(uname -r)" ] || echo 'next: scripts/machine/stackbuf-vm -h shows how to try it in a virtual machine'

# The package for DKMS lacks these
test_sources := $(wildcard $(CURDIR)/tests/modules/Kbuild $(CURDIR)/tests/modules/*.[ch])

# kbuild goes by times, which packages and rsync preserve: false if the kernel is another than that
# of the last build, so that everything must be built again
same_kernel = kernel=$$(cat '$(KDIR)/Module.symvers' '$(KDIR)/include/config/auto.conf' 2>/dev/null | cksum; \
	stat -Lc %Z '$(KDIR)/include/config/auto.conf' 2>/dev/null); \
	echo "$$kernel" | cmp -s - '$(build)/.kernel' || ! echo "$$kernel" >'$(build)/.kernel'

# kbuild writes next to the sources, so it gets a directory of links to them.
module: checked-kdir checked-sizes
	@[ ! -L '$(build)/core' ] || rm '$(build)/core'
	@mkdir -p '$(build)/core' '$(build)/tests'
	@ln -sfn $(CURDIR)/Kbuild $(CURDIR)/stackbuf.c $(CURDIR)/stackbuf.h \
		$(CURDIR)/stackbuf_format.h '$(build)/'
	@ln -sfn $(wildcard $(CURDIR)/core/*.[ch]) $(CURDIR)/core/features.sh '$(build)/core/'
	@$(same_kernel) || find '$(build)' -name '.*.cmd' -delete
	@$(if $(test_sources),ln -sfn $(test_sources) '$(build)/tests/')
	+@$(kbuild) modules

.PHONY: checked-kdir checked-sizes checked-built checked-root

checked-kdir:
	@$(call checked_name,kbuild)
	@[ $(words $(BUILD)) = 1 ] && [ $(words $(KDIR)) = 1 ] || \
		$(call fail,kbuild cannot work in directories with blanks in their names: $(BUILD) $(KDIR))
	@[ -e '$(KDIR)/Makefile' ] || if [ '$(origin KDIR)' = file ]; then \
		$(call fail,no headers for the running kernel $(release): install the package $(headers_package)$(,) or name a kernel's build directory: make KDIR=DIRECTORY (for a Debian kernel kept apart: KDIR=\`scripts/machine/stackbuf-kernel 6.1\`/build); the command alone$(,) by make tools$(,) needs none); \
	else \
		$(call fail,KDIR=$(KDIR) is no kernel build directory); \
	fi
	@[ ! -e '$(KDIR)/include/config/auto.conf' ] || \
		for option in MODULES KALLSYMS; do \
			grep -q "^CONFIG_$$option=y" '$(KDIR)/include/config/auto.conf' || \
				$(call fail,the kernel $(release) is built without CONFIG_$$option$(,) which stackbuf needs); \
		done
	@[ -e '$(KDIR)/include/config/auto.conf' ] || case '$(notdir $(realpath $(KDIR)))' in \
	linux-headers-*-common*) \
		$(call fail,KDIR=$(KDIR) has only the headers that kernels of a version have in common: install the package $(subst -common,,$(notdir $(realpath $(KDIR))))-amd64$(,) or that of the kernel's flavour$(,) and name its directory: KDIR=/usr/src/linux-headers-RELEASE) ;; \
	*) \
		$(call fail,KDIR=$(KDIR) is a kernel's source that is not configured: name the directory that the kernel was built in) ;; \
	esac

checked-sizes:
	@check() { \
		case $$2 in \
		''|0*|*[!0-9]*|???????*) $(call fail,$$1=$$2 is not a whole number of KiB from $${4:-4} to $$3); ;; esac; \
		[ $$2 -ge $${4:-4} ] && [ $$2 -le $$3 ] || $(call fail,$$1=$$2 is out of range: $${4:-4} to $$3 KiB); \
		[ $$(($$2 % 4)) -eq 0 ] || $(call fail,$$1=$$2 is not a multiple of 4 (KiB: memory comes in pages)); \
	}; \
	check EVENTS_KB '$(EVENTS_KB)' 262144 && \
	check STACKS_KB '$(STACKS_KB)' 262144 && \
	check TEXT_KB '$(TEXT_KB)' 4096 && \
	{ [ '$(PAIRS_KB)' = 0 ] || check PAIRS_KB '$(PAIRS_KB)' 262144 24; }
	@case '$(FRAMES)' in [89]|[1-9][0-9]|1[01][0-9]|12[0-7]) ;; \
	*) $(call fail,FRAMES=$(FRAMES) is not a number of frames$(,) 8 to 127) ;; esac
	@check() { \
		case $$2 in y|n) ;; *) $(call fail,$$1=$$2 is neither y nor n); ;; esac; \
	}; \
	check PROBES '$(PROBES)' && check DEEPEST '$(DEEPEST)' && check KEEP '$(KEEP)' && check UNIT '$(UNIT)'

# O=DIR is kbuild's: the command is not built there, and "make clean" must not remove it.  Builds for
# several kernels at once share it.
tools_make = flock tools $(MAKE) -C tools --no-print-directory O='$(CURDIR)/build/tools'

# The module is useful without the command, so missing libraries stop make only if the command was
# requested.  This target and install-tools need no kernel.
wanted := $(filter tools install-tools,$(MAKECMDGOALS))
lacking = echo 'stackbuf: $(if $(wanted),cannot build,left out) the command stackbuf: install the packages $(1)' >&2$(if $(wanted),; exit 1)
tools:
	@$(call checked_name,make)
	+@if [ ! -e tools/Makefile ]; then :; \
	elif ! command -v $(firstword $(CC)) >/dev/null; then \
		$(call lacking,gcc and $(if $(rpm),glibc-devel,libc6-dev)); \
	elif printf '#include <popt.h>\n#include <jansson.h>\n#include <elfutils/libdwfl.h>\n#include <zlib.h>\n#include <libkdumpfile/kdumpfile.h>\n#include <bpf/btf.h>\n' | $(CC) -E - >/dev/null 2>&1; then \
		$(tools_make); \
	else \
		$(call lacking,$(if $(rpm),popt-devel$(,) jansson-devel$(,) elfutils-devel$(,) zlib-devel$(,) libkdumpfile-devel and libbpf-devel,libpopt-dev$(,) libjansson-dev$(,) libdw-dev$(,) zlib1g-dev$(,) libkdumpfile-dev and libbpf-dev)); \
	fi

checked-built:
	@[ -e '$(module)' ] || $(call fail,$(module) is not built: run 'make' first)

checked-root:
	@[ "$$(id -u)" = 0 ] || $(call fail,this needs root: sudo make $(MAKECMDGOALS))

# With which DKMS signs: Ubuntu's, or DKMS's own
mok_key = $(firstword $(wildcard /var/lib/shim-signed/mok/MOK.der) /var/lib/dkms/mok.pub)

# The kernel only warns about an unknown parameter, so check the names first.
load: checked-root checked-built
	@command -v insmod >/dev/null && command -v modinfo >/dev/null || \
		$(call fail,insmod or modinfo is missing: install the package kmod)
	@[ '$(release)' = "$$(uname -r)" ] || \
		$(call fail,$(module) is built for $(release)$(,) this is $$(uname -r))
	@known=$$(modinfo -F parm '$(module)' | cut -d: -f1 | sort); \
	for word in $(PARAMS); do \
		printf '%s\n' "$$known" | grep -qxF -e "$${word%%=*}" || \
			$(call fail,no parameter $${word%%=*}: this module knows $$(echo $${known:-none})); \
	done
	@! grep -qs '^stackbuf ' /proc/modules || $(call fail,already loaded: sudo make unload)
	@said=$$(insmod '$(module)' $(PARAMS) 2>&1) || case "$$said" in \
	*"Key was rejected"*|*"key not available"*) \
		$(call fail,the kernel loads only modules signed with a key that it knows: sign it with the key of DKMS (stackbuf(4)$(,) SIGNED MODULES)$(,) mokutil --import $(mok_key)$(,) reboot and confirm the key) ;; \
	*) \
		echo "$$said" >&2; $(call fail,not loaded; the kernel log says why: dmesg | tail) ;; \
	esac

unload: checked-root
	@grep -qs '^stackbuf ' /proc/modules || $(call fail,not loaded)
	@rmmod stackbuf

install: checked-kdir checked-built tools
	+@$(kbuild) INSTALL_MOD_DIR=updates $(if $(DESTDIR),INSTALL_MOD_PATH='$(DESTDIR)') $(unsigned) modules_install
	$(if $(DESTDIR),,depmod $(release))
	install -D -m 644 -t '$(DESTDIR)$(PREFIX)/lib/stackbuf/$(release)' '$(build)/Module.symvers'
	$(install_headers)
	$(install_tools)

install-tools: tools
	$(install_tools)

install-headers:
	$(install_headers)

define install_headers
	install -D -m 644 -t '$(DESTDIR)$(PREFIX)/include/stackbuf' $(headers)
	install -D -m 644 -t '$(share)/stackbuf' packaging/client.mk
endef

define install_tools
	install -D -m 755 -t '$(DESTDIR)$(PREFIX)/bin' $(programs)
	install -D -m 755 -t '$(share)/stackbuf' $(CURDIR)/scripts/debugger/stackbuf-gdb.py $(CURDIR)/scripts/debugger/stackbuf-drgn.py
	install -D -m 755 -t '$(DESTDIR)$(PREFIX)/libexec/stackbuf' scripts/service/stackbuf-service
	install -D -m 644 -t '$(DESTDIR)$(PREFIX)/lib/systemd/system' scripts/service/stackbuf.service
	sed -i 's,=/usr/libexec/,=$(PREFIX)/libexec/,' '$(DESTDIR)$(PREFIX)/lib/systemd/system/stackbuf.service'
	install -D -m 644 -t '$(share)/doc/stackbuf/examples' scripts/service/stackbuf.conf packaging/modprobe.conf
	$(foreach page,$(pages),$(call install_page,$(page)) &&) :
	+@[ ! -x build/tools/stackbuf ] || $(tools_make) install PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)'
endef

uninstall:
	@for kernel in '$(release)' '$(DESTDIR)$(PREFIX)/lib/stackbuf/'*/; do \
		kernel=$$(basename "$$kernel"); \
		set -- "$(DESTDIR)/lib/modules/$$kernel/updates/"stackbuf.ko*; [ ! -e "$$1" ] || \
		{ rm -f "$$@"; $(if $(DESTDIR),:,depmod "$$kernel"); }; done
	rm -f $(foreach file,$(notdir $(programs)),'$(DESTDIR)$(PREFIX)/bin/$(file)')
	rm -rf '$(share)/stackbuf' '$(share)/doc/stackbuf/examples' $(foreach dir,include lib libexec,'$(DESTDIR)$(PREFIX)/$(dir)/stackbuf')
	rm -f '$(DESTDIR)$(PREFIX)/lib/systemd/system/stackbuf.service'
	rm -f '$(DESTDIR)$(PREFIX)/sbin/stackbuf' '$(share)/bash-completion/completions/stackbuf'
	rm -f $(foreach page,$(pages),'$(share)/man/man$(subst .,,$(suffix $(page)))/$(notdir $(page))')

# The files that git tracks, as they are in the work tree; in an unpacked archive, all files except
# those that were built
dist: archive := build/stackbuf-$(VERSION).tar.gz
dist: epoch := $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null),$(shell stat -c %Y Makefile))
dist:
	@mkdir -p build
	@if [ -e .git ]; then git ls-files -z; else find . -path ./build -prune -o ! -type d -printf '%P\0'; fi >'$(archive).list' && \
		[ -s '$(archive).list' ] && \
		tar -c --null -T '$(archive).list' --sort=name --owner=0 --group=0 --numeric-owner --mtime=@$(epoch) \
		--mode=u+rw,go=rX --transform 's,^,stackbuf-$(VERSION)/,S' -f '$(archive).tar' && \
		gzip -9n <'$(archive).tar' >'$(archive).new' && mv '$(archive).new' '$(archive)' && \
		rm '$(archive).list' '$(archive).tar' && echo '$(archive)' || \
		{ rm -f '$(archive)'*; $(call fail,no archive: git or tar says why); }

# Both build from the archive of "make dist", and leave nothing outside build/
deb rpm: dist
	@$(if $(and $(rpm),$(filter rpm,$@)),command -v rpmbuild >/dev/null || $(call fail,rpmbuild is missing: install the package rpm-build),scripts/machine/stackbuf-setup $@)
	@packaging/build $@ '$(VERSION)'

# Install packages and the kernels that the tests need; takes minutes, once
setup:
	@scripts/machine/stackbuf-setup test
	@for series in 6.1 6.12; do scripts/machine/stackbuf-kernel $$series >/dev/null || exit; done

check: setup
	@tests/run tests/host/check.t

test: setup
	@tests/run

# Both test and check; every change runs this
test-ci: setup
	@tests/run -c

# Every test in full, on both kernels, and ten minutes of soak in parallel
test-all: setup
	@MINUTES=5 tests/run -a

# The test of recall, with more than a million stacks on each kernel.
test-long: setup
	@ROUNDS=$(or $(ROUNDS),3) STACKBUF_TEST_LIMIT=14400 tests/run -a tests/recall.t

# Too long for "make test", and on more kernels: docs/testing.md
test-suite test-debug test-kasan test-arm64 test-matrix test-limits test-faults:
	@tests/suite $(patsubst test-%,%,$@)

# On a kernel that you built
test-kernel:
	@[ -n '$(KERNEL)' ] || $(call fail,name the directory that the kernel was built in: make test-kernel KERNEL=DIRECTORY)
	@tests/suite kernel '$(KERNEL)'

MINUTES ?= 60
soak:
	@tests/suite soak '$(MINUTES)'
test-fuzz:
	@tests/suite fuzz '$(MINUTES)'

# Check memory ordering with herd7: docs/testing.md explains how to build it
test-order:
	@scripts/machine/stackbuf-setup proof
	@tests/run tests/long/order.t

test-graft:
	@scripts/machine/stackbuf-setup proof
	@STACKBUF_TEST_LIMIT=3600 tests/run tests/long/graft.t

# Installs the packages in a new system, and boots it
test-packages:
	@scripts/machine/stackbuf-setup packages
	@STACKBUF_TEST_LIMIT=7200 tests/run tests/long/packages.t

# Needs clickhouse-server and clickhouse-client; without them it is skipped
test-fleet:
	@STACKBUF_TEST_LIMIT=3600 tests/run tests/long/fleet.t

demo:
	@scripts/machine/stackbuf-demo

bench:
	@scripts/machine/stackbuf-setup bench
	@tests/bench/module -w && tests/bench/core -w && tests/bench/decode -w && tests/bench/dump -w

clean:
	rm -rf '$(CURDIR)/build'

help:
	@echo 'make            build stackbuf.ko in build/RELEASE for the running kernel, and the command'
	@echo 'make module     build stackbuf.ko alone'
	@echo 'make load       load it, as root; PARAMS="NAME=VALUE ..." for its parameters'
	@echo 'make unload     unload it, as root'
	@echo 'make install    install module, command, scripts and manual pages (PREFIX, DESTDIR)'
	@echo 'make uninstall  remove them'
	@echo 'make tools      build the command stackbuf alone, in build/tools, as on a host that reads'
	@echo '                dumps: needs no kernel headers'
	@echo 'make install-tools'
	@echo '                install all but the module'
	@echo 'make install-headers'
	@echo '                install what modules that call stackbuf are built with'
	@echo 'make deb, make rpm'
	@echo '                packages for Debian, in build/deb, and for Fedora and Red Hat, in build/rpm'
	@echo 'make dist       the source as an archive, build/stackbuf-$(VERSION).tar.gz'
	@echo 'make demo       see it work in a virtual machine, from insmod to source lines'
	@echo 'make test       try everything once, in virtual machines: ten minutes or more'
	@echo 'make check      warnings of compilers, style, documents: minutes'
	@echo 'make test-ci    both'
	@echo 'make test-all   all of each test on two kernels, and the soak: more than an hour'
	@echo 'make test-long  the test of recall with a longer load: ROUNDS=3 times that of make test-all'
	@echo 'make test-suite, test-debug, test-kasan, test-arm64, test-matrix, test-limits, test-faults'
	@echo 'make soak, test-fuzz MINUTES=60'
	@echo '                longer tests, on other kernels: see docs/testing.md'
	@echo 'make test-packages'
	@echo '                install the Debian packages in a system of its own and boot it'
	@echo 'make test-order memory order, by the model of the kernel and HERD7="/path/to/herd7 OPTION..."'
	@echo 'make test-graft stackbuf in the source of two kernels, built and booted'
	@echo 'make test-fleet the commands of docs/fleet.md, with ClickHouse'
	@echo 'make test-kernel KERNEL=DIRECTORY'
	@echo '                the tests on a kernel that you built, in its output directory'
	@echo 'make bench      measure what an event costs, and how long decoding and dumps take, into'
	@echo '                docs/performance.md'
	@echo 'make clean      remove what was built'
	@echo
	@echo 'KDIR=DIRECTORY  build for another kernel: its build directory, as /usr/src/linux-headers-RELEASE,'
	@echo '                ~/linux/build, or that of a Debian kernel which is fetched for this:'
	@echo '                make KDIR=`scripts/machine/stackbuf-kernel 6.12`/build'
	@echo '                scripts/machine/stackbuf-vm -k 6.12 DIRECTORY boots it in QEMU and runs DIRECTORY/run'
	@echo 'BUILD=DIRECTORY put the module there (make module: from a source that cannot be written)'
	@echo 'EVENTS_KB=$(EVENTS_KB)  STACKS_KB=$(STACKS_KB)  TEXT_KB=$(TEXT_KB)  PAIRS_KB=$(PAIRS_KB)'
	@echo '                size of event ring, stack table, text log, pairs: 4 to 262144 (text log:'
	@echo '                4096; pairs: from 24, or 0), multiples of 4'
	@echo 'FRAMES=$(FRAMES)      frames that are kept of a trace: 8 to 127'
	@echo 'PROBES=n DEEPEST=n KEEP=n'
	@echo '                leave out the parameters probe, pair and trigger, the table of deepest stacks, the'
	@echo '                parameter keep'
	@echo 'V=1 W=1 C=2 CC=clang TESTS=1 work as usual; TESTS=1 builds the test module as well'
