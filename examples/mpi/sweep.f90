! SPDX-License-Identifier: Apache-2.0 OR MIT
!
! sweep: discrete ordinates transport on a 3-D grid, the x-y plane in blocks over a 2-D grid of ranks.
! Each of the eight octants of directions starts in its own corner and runs through the ranks as a wave: a rank receives
! the faces of a block of z-planes from upstream, solves the block, and sends its own faces downstream, with blocking
! calls. At the border upstream and downstream are MPI_PROC_NULL.
! Check: the same recurrence on the whole grid, without blocks, by rank 0 alone; every rank compares its part.
! Cost per iteration and rank: 8 octants * (nz / block) * 2 messages each way; angles * cells updates per octant.
! Source of the pipelining: Koch, Baker, Alcouffe, Solution of the first-order form of the 3-D discrete ordinates
! equation on a massively parallel processor, Trans. Am. Nucl. Soc. 65, 1992.
program sweep
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, real64
  use mpi_f08
  implicit none

  integer, parameter :: tag_x = 1, tag_y = 2
  ! Cross sections per unit length, total and scattering, and the size of a cell.
  real(real64), parameter :: total = 1.0_real64, scattering = 0.5_real64, width = 0.1_real64
  ! Largest accepted relative difference; both sides compute the same sums in nearly the same order.
  real(real64), parameter :: limit = 1e-12_real64
  ! Option values behind their names, with defaults and ranges.
  character(len=10), parameter :: names(7) = [character(len=10) :: 'nx', 'ny', 'nz', 'block', 'angles', 'iterations', &
                                              'corrupt']
  character(len=60), parameter :: helps(7) = [character(len=60) :: 'cells along x', 'cells along y', 'cells along z', &
    'z-planes per message', 'directions per octant', 'scattering iterations', &
    '1: spoil one received face; the check must then fail']
  integer, parameter :: least(7) = [1, 1, 1, 1, 1, 1, 0], most(7) = [4096, 4096, 4096, 4096, 256, 1000000, 1]
  integer :: options(7) = [32, 32, 32, 4, 4, 4, 0]

  type(MPI_Comm) :: cart
  type(MPI_Status) :: status
  integer :: ranks, rank, dims(2), coords(2), first(2), cells(2), planes
  integer :: left, right, below, above
  integer :: octant, iteration, verdict, axis
  integer(int64) :: counted(4), counted_total(4)
  real(real64), allocatable :: flux(:, :, :), source(:, :, :), expected(:, :, :)
  real(real64), allocatable :: face_x(:, :, :), face_y(:, :, :), face_z(:, :, :)
  real(real64), allocatable :: cosines(:, :)
  real(real64) :: change, error
  logical :: correct

  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call parse_options(verdict)
  dims = 0
  call MPI_Dims_create(ranks, 2, dims)
  if (verdict < 0 .and. any(options(1:2) < dims)) then
    if (rank == 0) write (error_unit, '(2(a,i0),a)') 'sweep: the grid is too small for ', dims(1), ' x ', dims(2), ' ranks'
    verdict = 2
  end if
  if (verdict >= 0) then
    call MPI_Finalize()
    stop verdict, quiet=.true.
  end if

  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.false., .false.], .false., cart)
  call MPI_Comm_rank(cart, rank)
  call MPI_Cart_coords(cart, rank, 2, coords)
  call MPI_Cart_shift(cart, 0, 1, left, right)
  call MPI_Cart_shift(cart, 1, 1, below, above)
  do axis = 1, 2
    first(axis) = coords(axis) * options(axis) / dims(axis)
    cells(axis) = (coords(axis) + 1) * options(axis) / dims(axis) - first(axis)
  end do
  planes = options(3)
  cosines = directions(options(5))

  allocate (flux(cells(1), cells(2), planes), source(cells(1), cells(2), planes))
  flux = 0
  counted = 0
  change = 0
  do iteration = 1, options(6)
    source = external_source(first, cells, planes) + scattering * flux
    flux = 0
    do octant = 0, 7
      call sweep_octant(octant, spoil=options(7) == 1 .and. iteration == 1 .and. octant == 0 .and. rank == ranks - 1)
    end do
    change = maxval(flux)
    call MPI_Allreduce(MPI_IN_PLACE, change, 1, MPI_DOUBLE_PRECISION, MPI_MAX, cart)
  end do

  allocate (expected(options(1), options(2), planes))
  expected = 0
  if (rank == 0) call solve_serially(expected)
  call MPI_Bcast(expected, size(expected), MPI_DOUBLE_PRECISION, 0, cart)
  error = maxval(abs(flux / expected(first(1) + 1:first(1) + cells(1), first(2) + 1:first(2) + cells(2), :) - 1))
  call MPI_Allreduce(MPI_IN_PLACE, error, 1, MPI_DOUBLE_PRECISION, MPI_MAX, cart)
  correct = error <= limit
  call MPI_Reduce(counted, counted_total, 4, MPI_INTEGER8, MPI_SUM, 0, cart)
  if (rank == 0) then
    write (*, '(a,i0,a,i0,a,es7.1,a,es7.1,a,es7.1,a)') 'sweep: ', dims(1), ' x ', dims(2), ' ranks, largest flux ', &
      change, ', largest difference ', error, ' (limit ', limit, ')'
    if (.not. correct) write (error_unit, '(a,es7.1)') 'sweep: WRONG: the flux differs from the serial sweep by ', error
    write (*, '(4(a,i0))') 'sweep: sent_messages=', counted_total(1), ' sent_bytes=', counted_total(2), &
      ' received_messages=', counted_total(3), ' received_bytes=', counted_total(4)
    if (any(counted_total(1:2) /= counted_total(3:4))) then
      write (error_unit, '(a)') 'sweep: WRONG: not all that was sent was received'
      correct = .false.
    end if
  end if
  call MPI_Bcast(correct, 1, MPI_LOGICAL, 0, cart)
  call MPI_Comm_free(cart)
  call MPI_Finalize()
  if (.not. correct) stop 1, quiet=.true.

contains

  ! Sets `verdict` to -1 to go on, else to the exit status.
  subroutine parse_options(verdict)
    integer, intent(out) :: verdict
    character(len=64) :: word, text
    integer :: position, which, value, problem

    verdict = -1
    position = 1
    do while (position <= command_argument_count() .and. verdict < 0)
      call get_command_argument(position, word)
      call get_command_argument(position + 1, text)
      position = position + 2
      if (word == '--help') then
        verdict = 0
        if (rank /= 0) cycle
        write (*, '(a)') 'usage: sweep [--NAME NUMBER]...', 'Transport sweeps through a 2-D grid of ranks.', ''
        do which = 1, size(names)
          write (*, '(5a,3(i0,a))') '  --', names(which), ' ', trim(helps(which)), ' (default ', options(which), ', from ', &
            least(which), ' to ', most(which), ')'
        end do
        write (*, '(a)') '  --help       print this and stop'
        cycle
      end if
      which = 0
      if (word(1:2) == '--') which = findloc(names, word(3:), dim=1)
      if (which == 0) then
        verdict = 2
        if (rank == 0) write (error_unit, '(3a)') 'sweep: unknown option `', trim(word), '`; --help lists them'
        cycle
      end if
      read (text, '(i20)', iostat=problem) value
      if (text == '' .or. problem /= 0) value = least(which) - 1
      if (value < least(which) .or. value > most(which)) then
        verdict = 2
        if (rank == 0) write (error_unit, '(3a,i0,a,i0,3a)') 'sweep: --', trim(names(which)), ' takes a number from ', &
          least(which), ' to ', most(which), ', found `', trim(text), '`'
        cycle
      end if
      options(which) = value
    end do
  end subroutine parse_options

  ! Unit vectors in the first octant, from the golden-angle spiral on a sphere folded into it; any set would do.
  pure function directions(count) result(cosines)
    integer, intent(in) :: count
    real(real64) :: cosines(3, count), around
    integer :: angle
    do angle = 1, count
      cosines(3, angle) = (angle - 0.5_real64) / count
      around = modulo(angle * 0.6180339887498949_real64, 1.0_real64) * acos(0.0_real64)
      cosines(1, angle) = sqrt(1 - cosines(3, angle)**2) * cos(around)
      cosines(2, angle) = sqrt(1 - cosines(3, angle)**2) * sin(around)
    end do
  end function directions

  ! Emission per cell: uneven, so that a face from the wrong place shows.
  pure function external_source(first, cells, planes) result(emission)
    integer, intent(in) :: first(2), cells(2), planes
    real(real64) :: emission(cells(1), cells(2), planes)
    integer :: i, j, k
    do concurrent (i = 1:cells(1), j = 1:cells(2), k = 1:planes)
      emission(i, j, k) = 1 + 0.01_real64 * (modulo(7 * (first(1) + i) + 11 * (first(2) + j) + 13 * k, 17))
    end do
  end function external_source

  ! One octant on this rank: blocks of planes in the octant's order, each received, solved and sent on.
  subroutine sweep_octant(octant, spoil)
    integer, intent(in) :: octant
    logical, intent(in) :: spoil
    integer :: from_x, to_x, from_y, to_y, done, many, k, i, j, angle, plane, column, row
    logical :: up(3)
    real(real64) :: slope(3), value

    up = [btest(octant, 0), btest(octant, 1), btest(octant, 2)]
    from_x = merge(left, right, up(1))
    to_x = merge(right, left, up(1))
    from_y = merge(below, above, up(2))
    to_y = merge(above, below, up(2))
    allocate (face_z(cells(1), cells(2), options(5)))
    face_z = 0
    do done = 0, planes - 1, options(4)
      many = min(options(4), planes - done)
      allocate (face_x(cells(2), many, options(5)), face_y(cells(1), many, options(5)))
      ! Nothing flows in over the border, and a receive from MPI_PROC_NULL leaves its buffer alone.
      face_x = 0
      face_y = 0
      call receive(face_x, from_x, tag_x)
      call receive(face_y, from_y, tag_y)
      if (spoil .and. done == 0) then
        face_x(1, 1, 1) = face_x(1, 1, 1) + 1
      end if
      do angle = 1, options(5)
        slope = cosines(:, angle) / width
        do k = 1, many
          plane = merge(done + k, planes + 1 - done - k, up(3))
          do j = 1, cells(2)
            row = merge(j, cells(2) + 1 - j, up(2))
            do i = 1, cells(1)
              column = merge(i, cells(1) + 1 - i, up(1))
              value = (source(column, row, plane) + slope(1) * face_x(row, k, angle) + slope(2) * face_y(column, k, angle) &
                       + slope(3) * face_z(column, row, angle)) / (total + sum(slope))
              face_x(row, k, angle) = value
              face_y(column, k, angle) = value
              face_z(column, row, angle) = value
              flux(column, row, plane) = flux(column, row, plane) + value / (8 * options(5))
            end do
          end do
        end do
      end do
      call send(face_x, to_x, tag_x)
      call send(face_y, to_y, tag_y)
      deallocate (face_x, face_y)
    end do
    deallocate (face_z)
  end subroutine sweep_octant

  subroutine receive(face, from, tag)
    real(real64), contiguous, intent(inout) :: face(:, :, :)
    integer, intent(in) :: from, tag
    integer :: values
    call MPI_Recv(face, size(face), MPI_DOUBLE_PRECISION, from, tag, cart, status)
    if (from == MPI_PROC_NULL) return
    call MPI_Get_count(status, MPI_DOUBLE_PRECISION, values)
    counted(3:4) = counted(3:4) + [1_int64, 8_int64 * values]
  end subroutine receive

  subroutine send(face, to, tag)
    real(real64), contiguous, intent(in) :: face(:, :, :)
    integer, intent(in) :: to, tag
    call MPI_Send(face, size(face), MPI_DOUBLE_PRECISION, to, tag, cart)
    if (to == MPI_PROC_NULL) return
    counted(1:2) = counted(1:2) + [1_int64, 8_int64 * size(face)]
  end subroutine send

  ! The recurrence as it is written in textbooks: one direction after the other, angular flux of the whole grid, vacuum
  ! around it.
  subroutine solve_serially(flux)
    real(real64), intent(inout) :: flux(:, :, :)
    real(real64), allocatable :: angular(:, :, :), source(:, :, :)
    real(real64) :: slope(3), inflow
    integer :: n(3), towards(3), start(3), finish(3), iteration, octant, angle, i, j, k

    n = shape(flux)
    allocate (angular(0:n(1) + 1, 0:n(2) + 1, 0:n(3) + 1), source(n(1), n(2), n(3)))
    do iteration = 1, options(6)
      source = external_source([0, 0], n(1:2), n(3)) + scattering * flux
      flux = 0
      do octant = 0, 7
        towards = [(merge(1, -1, btest(octant, i)), i=0, 2)]
        start = merge(1, n, towards == 1)
        finish = merge(n, 1, towards == 1)
        do angle = 1, options(5)
          slope = cosines(:, angle) / width
          angular = 0
          do k = start(3), finish(3), towards(3)
            do j = start(2), finish(2), towards(2)
              do i = start(1), finish(1), towards(1)
                inflow = slope(1) * angular(i - towards(1), j, k) + slope(2) * angular(i, j - towards(2), k) &
                  + slope(3) * angular(i, j, k - towards(3))
                angular(i, j, k) = (source(i, j, k) + inflow) / (total + sum(slope))
              end do
            end do
          end do
          flux = flux + angular(1:n(1), 1:n(2), 1:n(3)) / (8 * options(5))
        end do
      end do
    end do
  end subroutine solve_serially

end program sweep
