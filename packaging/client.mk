# SPDX-License-Identifier: GPL-2.0
#
# For the Kbuild file of a module that calls stackbuf:
#
#	obj-m := mine.o
#	include /usr/share/stackbuf/client.mk
#
# kbuild reads it when it compiles and once more when it resolves symbols.

# Without the spaces: ../../ of this file's directory is /usr or /usr/local
stackbuf-prefix := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))../..)

ccflags-y += -I$(stackbuf-prefix)/include/stackbuf

# Of the kernel that the client is built for: by "make install", akmods or DKMS, whose link kernel-* leads to
# the version that is installed
stackbuf-symbols := $(firstword $(wildcard \
	$(stackbuf-prefix)/lib/stackbuf/$(KERNELRELEASE)/Module.symvers \
	/lib/modules/$(KERNELRELEASE)/extra/stackbuf/Module.symvers \
	$(foreach arch,x86_64 aarch64,/var/lib/dkms/stackbuf/kernel-$(KERNELRELEASE)-$(arch)/module/Module.symvers)))

KBUILD_EXTRA_SYMBOLS += $(stackbuf-symbols)

# "make clean" needs no symbols
ifeq ($(stackbuf-symbols)$(filter %/Makefile.clean,$(MAKEFILE_LIST)),)
$(error stackbuf: the module is not built for the kernel $(KERNELRELEASE): run "dkms autoinstall -k $(KERNELRELEASE)" as root, or "make install" in stackbuf's source)
endif
